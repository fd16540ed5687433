/** @engine sqlite */
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import {
  cli,
  contentOf,
  file,
  fillWith,
  flipBit,
  makeStores,
  makeToken,
  PLANTS,
  put,
  source,
  target,
} from './backups.js';
import { listOpen, runHere } from '../support/cli.js';
import type { SqliteStore } from '../support/sqlite-store.js';

makeStores();

async function change(sql: string): Promise<void> {
  await source.execute(`${sql}; PRAGMA journal_mode = DELETE`);
  writeFileSync(file, readFileSync(source.path));
}

/** Backs up a plant and a token. */
async function backUpOne(): Promise<void> {
  await source.execute("INSERT INTO plants (id, name, tag) VALUES (1, 'oak', 'Quercus')");
  await makeToken(source, 'nursery');
  await cli(source, `backup ${file}`);
}

/** Backs up a plant and a token, and damages the backup at this text. */
async function damage(text: string): Promise<void> {
  await backUpOne();
  flipBit(file, text);
}

/** Backs up many plants and a token, and cuts the backup to a part of its size. */
async function cut(resize: (size: number) => number): Promise<void> {
  await makeToken(source, 'nursery');
  await source.execute(fillWith(5_000));
  await cli(source, `backup ${file}`);
  truncateSync(file, resize(statSync(file).size));
}

it.each<[what: string, spoil: () => unknown, message: string | RegExp]>([
  ['missing', () => undefined, 'backup.sqlite: the backup cannot be opened: there is no file '],
  ['a folder', () => mkdirSync(file), 'backup.sqlite is not a file\n'],
  [
    'empty',
    () => writeFileSync(file, ''),
    'it is empty; name a file that `bin/plant-store backup` has made\n',
  ],
  ['NDJSON', () => writeFileSync(file, '{"id":1,"name":"x"}\n'.repeat(999)), 'is not a database'],
  [
    'of another program',
    () => change('DROP TABLE plants; DROP TABLE plant_store_migrations'),
    'it is not a plant store',
  ],
  [
    'of a newer version',
    () => change("INSERT INTO plant_store_migrations (timestamp, name) VALUES (9, 'Newer9')"),
    'its schema is of a newer version, by the migration Newer9: restore it by that version\n',
  ],
  [
    'of an older version',
    () =>
      change(
        "DELETE FROM plant_store_migrations WHERE name LIKE 'CreateBackups%'; ALTER TABLE plants DROP COLUMN tag",
      ),
    'its schema is of an older version: copy it, run `bin/plant-store migrate` and ' +
      '`bin/plant-store backup NEW` with DATABASE_URL=sqlite:COPY, and use NEW\n',
  ],
  ['cut by half', () => cut((size) => size / 2), 'malformed'],
  // The last byte is of a digest.
  [
    'cut by a byte',
    () => cut((size) => size - 1),
    /: the backup is damaged: \w+ differ: \d+, sha256 /,
  ],
  [
    'a store',
    () => copyFileSync(source.path, file),
    /backup\.sqlite is a store, not a backup: run `DATABASE_URL=sqlite:\S+ bin\/plant-store backup NEW` first\n$/,
  ],
  ['damaged in a tag', () => damage('Quercus'), 'plants differ: 1, sha256 '],
  ['damaged in a token', () => damage('nursery'), 'tokens differ: 1, sha256 '],
  [
    'damaged in an index',
    async () => {
      await backUpOne();
      // The index of the hashes is behind its table.
      const [token] = await source.rows<{ hash: string }>('SELECT hash FROM tokens');
      flipBit(file, token?.hash ?? '');
    },
    'missing from index',
  ],
  ['damaged in a digest', () => damage('plants1, sha256'), 'the digest of plants is missing'],
  ['damaged in a count', () => damage('1, sha256'), ' instead of 0, sha256 '],
  [
    'with text for a terminal in a digest',
    async () => {
      await backUpOne();
      const backup = new Database(file);
      backup.exec("UPDATE digests SET digest = digest || char(27) || '[2J'");
      backup.close();
    },
    '\\u001b[2J\n',
  ],
])('refuses a backup that is %s with one line', async (_what, spoil, message) => {
  await spoil();
  const before = await contentOf(target);
  const { code, stdout, stderr } = await cli(target, `restore ${file}`);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  expect(stderr).toEqual(
    typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  );
  expect(await contentOf(target)).toEqual(before);
  const verified = await cli(source, `backup --verify ${file}`);
  expect(verified).toEqual({ code, stdout, stderr });
  expect(listOpen(source.folder)).toEqual([]);
});

it('refuses a backup with any bit flipped, or restores the same content', async () => {
  put(source, PLANTS.slice(0, 7));
  await source.execute(fillWith(50));
  await makeToken(source, 'nursery');
  await cli(source, `backup ${file}`);
  const intact = readFileSync(file);
  const content = await contentOf(source);
  const backup = Object.assign(Object.create(source) as SqliteStore, { path: file });
  const verdicts = new Set<number | null>();
  const bits = fc.integer({ min: 0, max: intact.length * 8 - 1 });
  await fc.assert(
    fc.asyncProperty(bits, async (bit) => {
      writeFileSync(file, intact);
      flipBit(file, bit >> 3, bit & 7);
      const { code, stderr } = await cli(source, `backup --verify ${file}`);
      verdicts.add(code);
      if (code === 0) expect(await contentOf(backup)).toEqual(content);
      else expect(stderr).toMatch(/^error: [^\n]+\n$/);
    }),
    { numRuns: 150 },
  );
  expect(verdicts).toEqual(new Set([0, 1]));
});

it('refuses a name that ends with a blank, for which the driver would read another file', async () => {
  await backUpOne();
  copyFileSync(file, `${file} `);
  const { folder: cwd, url } = source;
  for (const args of [['backup', '--verify'], ['restore']])
    expect(await runHere([...args, `${file} `], { cwd, env: { DATABASE_URL: url } })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`${file} : rename it: `),
    });
});

it('makes no backup with such a name', async () => {
  const { folder: cwd, url } = source;
  expect(await runHere(['backup', 'b '], { cwd, env: { DATABASE_URL: url } })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the name of a backup must not end with a blank'),
  });
});

it('backup never replaces the store', async () => {
  // No file beside it shows then that it is a store.
  await source.execute('PRAGMA journal_mode = DELETE');
  const before = await contentOf(source);
  symlinkSync(source.path, join(source.folder, 'link'));
  symlinkSync('data', join(source.folder, 'folder'));
  // Not there yet.
  const log = join('folder', `${basename(source.path)}-journal`);
  const beside = [`${source.path}-wal`, `${source.path}-lock`];
  for (const file of beside) writeFileSync(file, '');
  for (const place of [source.path, 'data/../data/store.sqlite', 'link', log, ...beside]) {
    for (const command of ['backup', 'export']) {
      expect(await cli(source, `${command} ${place}`)).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: ${place} is a file of the store\n`,
      });
    }
  }
  for (const file of beside) rmSync(file);
  // DATABASE_URL may lead to the store by a link.
  const linked = { cwd: source.folder, env: { DATABASE_URL: 'sqlite:link' } };
  for (const command of ['backup', 'export'])
    expect(await runHere([command, source.path], linked)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`error: ${source.path} is a file of the store\n`),
    });
  expect(await contentOf(source)).toEqual(before);
});
