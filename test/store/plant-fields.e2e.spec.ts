import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { cli, createTarget } from '../cli/backups.js';
import { runHere } from '../support/cli.js';
import { service, startService } from '../support/own.js';
import { newPlant } from '../support/contract.js';
import { read } from '../support/published.js';

type Fields = Readonly<Record<string, unknown>>;

const { properties, required } = newPlant;
/** The fields of a plant's content: every one that the contract has. */
const FIELDS = Object.keys(properties).filter((field) => field !== 'id');
/** A value of each type of JSON that a field may have. */
const VALUES: Fields = { string: '木 "1"', integer: 7, number: 7.5, boolean: true };
const FALSY: Fields = { string: '', integer: 0, number: 0, boolean: false };
const OTHERS: Fields = { string: 'other', integer: 8, number: 8.5, boolean: false };

const content = (values: Fields) =>
  Object.fromEntries(FIELDS.map((field) => [field, values[properties[field]?.type ?? '']]));
/** Plants by their ids. */
const WHOLE = { 1: content(VALUES), 2: content(FALSY) };

startService();
beforeAll(async () => {
  for (const id of [1, 2] as const) expect(await create(id)).toMatchObject({ status: 200 });
});

const create = (id: keyof typeof WHOLE, fields: Fields = {}) =>
  service.client.post(JSON.stringify({ id, ...WHOLE[id], ...fields }));

/** docs: CONTRIBUTING.md, "A new field of a plant". */
describe('every field of the contract', () => {
  it.each([1, 2] as const)('is stored and returned, and a repeat is recognised: %i', async (id) => {
    expect(await create(id)).toMatchObject({ status: 200, body: WHOLE[id] });
  });

  it.each(FIELDS)('%s is compared with what is stored', async (field) => {
    const { status, body } = await create(1, { [field]: content(OTHERS)[field] });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 1004 } });
  });

  it.each(FIELDS.filter((field) => !required.includes(field)))(
    '%s left out is not the same as one that is empty',
    async (field) => {
      const { status, body } = await create(2, { [field]: undefined });
      expect({ status, body }).toMatchObject({ status: 400, body: { error: 1004 } });
    },
  );

  it.each(FIELDS)('%s has no value of another type', async (field) => {
    const type = properties[field]?.type ?? '';
    const others = Object.entries({ ...VALUES, array: [], object: {}, null: null })
      .filter(([other]) => other !== type && !(other === 'integer' && type === 'number'))
      .map(([, value]) => value);
    for (const value of others) {
      const { status, body } = await create(1, { [field]: value });
      const message = expect.stringMatching(new RegExp(`^${field} must `));
      expect({ status, body }).toEqual({ status: 400, body: { error: 1003, message } });
    }
  });

  it('is sent by import, and none is ignored', async () => {
    const { store, port, token } = service;
    const input = JSON.stringify({ id: 1, ...WHOLE[1] });
    const args = ['import', '-', '--strict', '--url', `http://127.0.0.1:${port}`, '--token', token];
    expect(await runHere(args, { cwd: store.folder, input })).toMatchObject({ code: 0 });
  });

  it('is exported, backed up and restored', async () => {
    const exported = await cli(service.store, 'export');
    const lines = exported.stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { id: 1, ...WHOLE[1] },
      { id: 2, ...WHOLE[2] },
    ]);
    const backup = join(service.store.folder, 'backup.sqlite');
    expect(await cli(service.store, `backup ${backup}`)).toMatchObject({ code: 0 });
    const target = await createTarget();
    expect(await cli(target, `restore ${backup}`)).toMatchObject({ code: 0 });
    expect(await cli(target, 'export')).toEqual(exported);
    await target.remove();
  });

  it.each(FIELDS)('%s is described in docs/api.md', (field) => {
    expect(read('docs/api.md')).toMatch(new RegExp(`^(- |.* and )\`${field}\`, `, 'm'));
  });
});
