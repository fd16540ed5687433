/** @engine sqlite */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { cli, createSource, fillWith } from './backups.js';
import { runCli, runQuietly } from '../support/cli.js';
import { ServiceProcess } from '../support/service-process.js';
import type { SqliteStore } from '../support/sqlite-store.js';

const DAMAGED =
  /^error: [^\n]+; the store is damaged: stop the service, [^\n]* in docs\/operating\.md\n$/;

let store: SqliteStore;
beforeEach(async () => {
  store = await createSource();
});
afterEach(() => store.remove());

it('an undamaged store passes, and nothing is created or changed', async () => {
  await store.execute(fillWith(1_000));
  const look = () => {
    const files = readdirSync(dirname(store.path));
    return { files, bytes: readFileSync(store.path), mtime: statSync(store.path).mtimeMs };
  };
  const before = look();
  expect(before.files).toEqual(['store.sqlite']);
  expect(await cli(store, 'check')).toEqual({
    code: 0,
    stdout: 'plants: 1000, tokens: 0; no damage found\n',
    stderr: '',
  });
  expect(look()).toEqual(before);
  const { stdout } = await cli(store, 'check --json');
  const counted = (count: number) => ({ count, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const all = { plants: counted(1_000), tokens: counted(0), indexes: true };
  expect(JSON.parse(stdout)).toEqual(all);
});

it('a store passes while its service runs', async () => {
  const service = await ServiceProcess.start();
  const { folder, url } = service.store;
  const client = service.client();
  expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(200);
  const env = { DATABASE_URL: url };
  expect(await runQuietly(['check'], { cwd: folder, env }, runCli)).toEqual({
    code: 0,
    stdout: 'plants: 1, tokens: 1; no damage found\n',
    stderr: '',
  });
  expect((await client.create({ id: 2n, name: 'oak' })).status).toBe(200);
  await service.remove();
});

it.each([
  ['a text id', "('x', 'n', NULL)", "plants: the row of id 'x' has a value of a wrong type"],
  ['a fraction as an id', "(4.5, 'n', NULL)", 'plants: the row of id 4.5 has'],
  ['a number after all integers', "(1e300, 'n', NULL)", 'plants: the row of id 1.0e+300 has'],
  ['a name of bytes', "(4, x'6e', NULL)", 'plants: the row of id 4 has'],
  ['a tag with U+0000', "(4, 'n', 'a' || char(0))", 'plants: the row of id 4 has'],
  ['a name that is not UTF-8', "(4, CAST(x'6eff' AS TEXT), NULL)", 'plants: the text of id 4 is'],
])('reports %s as damage, and backup refuses it', async (_what, row, message) => {
  await store.execute(`${fillWith(100)}; INSERT INTO plants (id, name, tag) VALUES ${row}`);
  const { code, stdout, stderr } = await cli(store, 'check');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(DAMAGED);
  expect(stderr).toContain(message);
  for (const line of ['export plants.ndjson', 'backup backup.sqlite']) {
    const copied = await cli(store, line);
    expect(copied).toMatchObject({ code: 1, stderr: expect.stringContaining(message) });
  }
  expect(readdirSync(store.folder)).toEqual(['data']);
});

it.each([
  ['the header', 'plants', 0, /file is not a database/],
  ['a page of the plants', 'plants', 8, /table plants: Tree \d+ page \d+/],
  ['a page of an index', 'sqlite_autoindex_tokens_1', 8, /index sqlite_auto\w+: Tree \d+ page/],
  ['an entry of an index', 'sqlite_autoindex_tokens_1', 4_090, /table tokens: row \d+ missing/],
])('names %s that a flipped bit has damaged', async (where, tree, at, message) => {
  await store.execute(fillWith(5_000));
  await store.execute("INSERT INTO tokens (name, hash, created_at) VALUES ('a', 'hash', 1)");
  const sql = 'SELECT rootpage FROM sqlite_schema WHERE name = ?';
  const database = store.open();
  const page = Number(database.prepare<[string], bigint>(sql).pluck().get(tree));
  database.pragma('journal_mode = DELETE');
  database.close();
  const offset = where === 'the header' ? 0 : (page - 1) * 4_096 + at;
  const bytes = readFileSync(store.path);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 0x10, offset);
  writeFileSync(store.path, bytes);
  const { code, stdout, stderr } = await cli(store, 'check');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(message);
  expect(stderr).toMatch(DAMAGED);
});
