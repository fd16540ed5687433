/** @engine sqlite */
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cli, file, fillWith, flipBit, makeStores, makeToken, passed, source } from './backups.js';
import { Token } from '../../src/auth/tokens/token.entity.js';
import { remakeTable } from '../support/columns.js';
import { listCommands } from '../support/remedy.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

makeStores();

const ADVICE =
  'the store is damaged: stop the service, and follow "A damaged store" in docs/operating.md';
const DAMAGED = new RegExp(`^error: [^\n]+; ${ADVICE}\n$`);

it('an undamaged store passes, and nothing is created or changed', async () => {
  await source.execute(fillWith(1_000));
  const look = () => {
    const files = readdirSync(dirname(source.path));
    return { files, bytes: readFileSync(source.path), mtime: statSync(source.path).mtimeMs };
  };
  const before = look();
  expect(before.files).toEqual(['store.sqlite']);
  expect(await cli(source, 'check')).toEqual({
    code: 0,
    stdout: passed(1_000, 0),
    stderr: '',
  });
  expect(look()).toEqual(before);
  const { stdout } = await cli(source, 'check --json');
  const counted = (count: number) => ({ count, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const all = { plants: counted(1_000), tokens: counted(0) };
  expect(JSON.parse(stdout)).toMatchObject(all);
});

it('of a renamed table the remedy alone is printed, which keeps its rows', async () => {
  await source.execute(`${fillWith(2)}; ALTER TABLE plants RENAME TO former;
    CREATE TABLE plants (id bigint PRIMARY KEY, name numeric NOT NULL, tag text, created_by text, created_at bigint)`);
  const { code, stderr } = await cli(source, 'check');
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^error: the column name of plants is of type numeric, not text: if "former", which has its columns, is the former one, run `[^\n]+`\n$/,
    ),
  });
  expect(stderr).not.toContain('the store has other tables');
  const [rename = ''] = listCommands(stderr);
  await source.execute(rename);
  await source.execute('DROP TABLE plants_unused');
  expect(await cli(source, 'check')).toEqual({ code: 0, stdout: passed(2, 0), stderr: '' });
});

it('a store passes while its service runs', async () => {
  const service = await ServiceProcess.start();
  const client = service.client();
  expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(200);
  expect(await cli(service.store, 'check')).toEqual({ code: 0, stdout: passed(1, 1), stderr: '' });
  expect((await client.create({ id: 2n, name: 'oak' })).status).toBe(200);
  await service.remove();
});

it.each([
  [
    'a text id',
    "('x', 'n', NULL)",
    "plants: the row of id 'x' has a value of a wrong type, or U+0000",
  ],
  ['a fraction as an id', "(4.5, 'n', NULL)", 'plants: the row of id 4.5 has'],
  ['a number after all integers', "(1e300, 'n', NULL)", 'plants: the row of id 1.0e+300 has'],
  ['a name of bytes', "(4, x'6e', NULL)", 'plants: the row of id 4 has'],
  ['a tag with U+0000', "(4, 'n', 'a' || char(0))", 'plants: the row of id 4 has'],
  ['a name that is not UTF-8', "(4, CAST(x'6eff' AS TEXT), NULL)", 'plants: the text of id 4 is'],
])('reports %s as damage, and backup refuses it', async (_what, row, message) => {
  await source.execute(`${fillWith(100)}; INSERT INTO plants (id, name, tag) VALUES ${row}`);
  const checked = await cli(source, 'check');
  expect(checked).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(DAMAGED) });
  for (const line of ['check', 'export plants.ndjson', 'backup backup.sqlite'])
    expect(await cli(source, line)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(message),
    });
  expect(readdirSync(source.folder)).toEqual(['data']);
});

/** Flips a bit of the first page of a table or an index, or else of the header. */
async function damage(tree: string, at?: number): Promise<void> {
  const roots = `SELECT rootpage FROM sqlite_schema WHERE name = '${tree}'`;
  const [root] = await source.rows<{ rootpage: bigint }>(roots);
  await source.execute('PRAGMA journal_mode = DELETE');
  flipBit(source.path, at === undefined ? 0 : (Number(root?.rootpage) - 1) * 4_096 + at, 4);
}

it.each([
  ['the header', 'plants', 0, /file is not a database/],
  ['a page of the plants', 'plants', 8, /table plants: Tree \d+ page \d+/],
  ['a page of an index', 'sqlite_autoindex_tokens_1', 8, /index sqlite_auto\w+: Tree \d+ page/],
  [
    'an entry of an index',
    'sqlite_autoindex_tokens_1',
    4_090,
    /row \d+ missing from index sqlite_auto\w+tokens/,
  ],
])('names %s that a flipped bit has damaged', async (where, tree, at, message) => {
  await source.execute(fillWith(5_000));
  await source.execute("INSERT INTO tokens (name, hash, created_at) VALUES ('a', 'hash', 1)");
  await damage(tree, where === 'the header' ? undefined : at);
  const checked = await cli(source, 'check');
  expect(checked).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(DAMAGED) });
  expect(checked.stderr).toMatch(message);
});

describe('what to do about damage is said', () => {
  it('by a start and by each command', async () => {
    await damage('plants');
    for (const line of ['export', `backup ${file}`, 'token list', 'token create a', 'migrate'])
      expect(await cli(source, line)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(DAMAGED),
      });
    const status = { code: 1, stdout: expect.stringContaining(ADVICE) };
    expect(await cli(source, 'status')).toMatchObject(status);
    const stderr = expect.stringMatching(DAMAGED);
    expect(await startHere(source.url)).toMatchObject({ code: 1, stderr });
  });

  it('of a file that is cut beside its log, and for that reason seems to be no store', async () => {
    const service = await ServiceProcess.start({ store: source });
    const client = service.client();
    for (let id = 1n; id <= 300n; id++) await client.create({ id, name: 'oak' });
    await service.kill();
    truncateSync(source.path, 5_000);
    for (const line of ['check', 'token list', 'migrate'])
      expect((await cli(source, line)).stderr).toMatch(DAMAGED);
    expect((await startHere(source.url)).stderr).toMatch(DAMAGED);
  });

  it.each([
    ['of its own', 'sqlite_autoindex_tokens_1', ''],
    [
      'of an operator',
      'own',
      `${remakeTable(Token, 't', { id: 'integer PRIMARY KEY AUTOINCREMENT NOT NULL' })};
       DROP TABLE t; CREATE UNIQUE INDEX own ON tokens (hash);`,
    ],
  ])("by the service's log and /readyz, in an index %s", async (_whose, index, prepare) => {
    const token = await makeToken(source, 'nursery');
    await source.execute(prepare);
    await damage(index, 0);
    const env = { MANAGEMENT_PORT: '0' };
    const service = await ServiceProcess.start({ store: source, token, env });
    expect(await service.client().create({ id: 1n, name: 'oak' })).toMatchObject({ status: 503 });
    const reason = `database disk image is malformed; ${ADVICE}`;
    const { details } = await service.monitor.until(503, 'store');
    expect(details.store?.message).toBe(reason);
    expect(service.output).toContain(`the store is unavailable: ${reason}`);
    await service.kill();
  });

  it('but not of a damaged backup, beside which the store may be intact', async () => {
    expect((await cli(source, `backup ${file}`)).code).toBe(0);
    flipBit(file, 0);
    const stderr = `error: ${file}: the backup cannot be opened: file is not a database\n`;
    for (const line of [`backup --verify ${file}`, `restore ${file}`])
      expect(await cli(source, line)).toEqual({ code: 1, stdout: '', stderr });
  });
});
