/** @engine sqlite */
import { hash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { startHere } from '../support/start-here.js';

makeStore();
beforeEach(() => mkdirSync(dirname(store.path)));

/** The digest of each file in the store's folder, but the index of a log: that is memory, which readers change. */
function digestFiles(): Record<string, string> {
  const folder = dirname(store.path);
  const digest = (name: string) => hash('sha256', readFileSync(join(folder, name)));
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  return Object.fromEntries(names.map((name) => [name, digest(name)]));
}

/** Copies a database and its log while it is open, as a crash of its program leaves them. */
function crash(path: string, change: (database: Database.Database) => void): void {
  const alive = join(store.folder, 'alive.sqlite');
  if (existsSync(path)) copyFileSync(path, alive);
  const database = new Database(alive);
  change(database);
  for (const end of ['', '-wal', '-shm', '-journal'])
    if (existsSync(alive + end)) copyFileSync(alive + end, path + end);
  database.close();
}

const TABLE = 'CREATE TABLE bookmarks (id integer PRIMARY KEY, url text)';
const ROW = "INSERT INTO bookmarks (url) VALUES ('https://a.example')";
const WAL = `PRAGMA journal_mode = WAL; ${TABLE}; ${ROW}`;

describe.each<[what: string, sql: string, hasCrashed?: boolean]>([
  ['has a table of its own', `${TABLE}; ${ROW}`],
  ['has a write-ahead log', WAL],
  ['crashed with a write-ahead log', WAL, true],
  [
    "lists migrations of its own, as TypeORM's",
    `${TABLE}; CREATE TABLE migrations (id integer, timestamp bigint, name text);
     INSERT INTO migrations VALUES (1, 1, 'CreateBookmarks1')`,
  ],
  ['lists migrations in another way', `${TABLE}; CREATE TABLE migrations (version text)`],
  ['has a view alone', 'CREATE VIEW one AS SELECT 1'],
])("another program's database that %s", (_what, sql, hasCrashed = false) => {
  it('is refused and stays as it is', async () => {
    const backup = join(store.folder, 'backup.sqlite');
    const own = `sqlite:${store.folder}/own.sqlite`;
    await cli('migrate', own);
    expect(await cli(`backup ${backup}`, own)).toMatchObject({ code: 0 });
    if (hasCrashed) crash(store.path, (database) => database.exec(sql));
    else await store.execute(sql);
    const before = digestFiles();

    const refusal = `${store.path} has tables of another program: set DATABASE_URL to another file\n`;
    const failed = { code: 1, stderr: expect.stringContaining(refusal) };
    expect(await cli('migrate')).toMatchObject({ ...failed, stdout: '' });
    expect(await startHere(store.url)).toMatchObject(failed);
    expect(digestFiles()).toEqual(before);

    for (const line of ['token create a', 'token list', 'check', `restore ${backup}`]) {
      const { code, stderr } = await cli(line);
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(stderr).toContain('DATABASE_URL: the store cannot be opened: ');
    }
    expect(digestFiles()).toEqual(before);
  });
});

describe('a store', () => {
  beforeEach(async () => {
    expect(await cli('migrate')).toMatchObject({ code: 0 });
    await store.execute("INSERT INTO plants (id, name) VALUES (1, 'oak')");
  });

  it('that a crash left in the middle of a transaction is opened', async () => {
    crash(store.path, (database) => {
      database.exec(
        'PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; DELETE FROM plants',
      );
      const insert = database.prepare('INSERT INTO plants (id, name) VALUES (?, ?)');
      for (let id = 1; id < 1_000; id++) insert.run(id, 'a'.repeat(1_000));
    });
    expect(readdirSync(dirname(store.path))).toContain('store.sqlite-journal');
    expect(await cli('migrate')).toMatchObject({ code: 0, stdout: 'up to date\n' });
    expect(await store.plants()).toMatchObject([{ id: 1n, name: 'oak' }]);
  });

  it('may have tables of others beside its own', async () => {
    await store.execute(`${TABLE}; ${ROW}`);
    expect(await cli('migrate')).toMatchObject({ code: 0, stdout: 'up to date\n' });
    expect(await cli('token create a')).toMatchObject({ code: 0 });
  });
});
