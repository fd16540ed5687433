import { readdirSync } from 'node:fs';
import { beforeEach, expect, it } from '@jest/globals';
import { Plant } from '../../src/plants/plant.entity.js';
import { defineColumns } from '../support/columns.js';
import { ENGINE } from '../support/engine.js';
import { cli, makeStore, store } from '../support/own.js';

makeStore();

/** A table of plants that somebody has made by hand. */
const TABLE = `CREATE TABLE plants (${defineColumns(Plant)})`;
const ROWS = Array.from({ length: 40 }, (_, id) => `(${id}, 'oak')`).join();

beforeEach(async () => {
  expect(await cli('migrate')).toMatchObject({ code: 0 });
  await store.execute('DROP TABLE plants');
  await store.execute(TABLE);
  await store.execute(`INSERT INTO plants (id, name) VALUES ${ROWS}`);
});

it('check reports a lost key as damage; export and backup warn', async () => {
  expect(await cli('check')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^error: no (valid )?unique index of plants has its key, id, [^\n]+\n$/,
    ),
  });
  for (const line of ['export plants.ndjson', 'backup b.sqlite'])
    expect(await cli(line)).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /^warning: no (valid )?unique index of plants has its key, id, [^\n]+\n/,
      ),
    });
});

// SQLite reads pages of 32 rows.
it.each(ENGINE === 'sqlite' ? [0, 7, 31, 32, 39] : [7])(
  'check, export and backup name the id %s that is there twice',
  async (id) => {
    await store.execute(`INSERT INTO plants (id, name) VALUES (${id}, 'elm')`);
    const before = readdirSync(store.folder);
    for (const line of ['check', 'export plants.ndjson', 'backup b.sqlite']) {
      const { code, stdout, stderr } = await cli(line);
      expect({ line, code, stdout }).toEqual({ line, code: 1, stdout: '' });
      // It is damage, unless what was found explains it.
      const twice = `plants: id ${id} is there twice`;
      const error = line === 'check' ? `no (valid )?unique index .*; ${twice}\n$` : `${twice}; `;
      expect(stderr).toMatch(new RegExp(`^error: ${error}`, 'm'));
    }
    expect(readdirSync(store.folder)).toEqual(before);
  },
);
