import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import {
  cli,
  contentOf,
  file,
  fillWith,
  flipBit,
  hasId,
  makeStores,
  makeToken,
  PLANTS,
  put,
  source,
  target,
} from './backups.js';
import { spawnCli, untilEnd, type Ran } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { SqliteStore } from '../support/sqlite-store.js';

makeStores();

/** Whether a process has written to the store, in a transaction that is not committed. */
async function isBeingFilled(): Promise<boolean> {
  if (target instanceof SqliteStore) {
    if (!hasId(target)) return false;
    const database = new Database(target.path, { timeout: 0 });
    try {
      database.exec('BEGIN IMMEDIATE');
      return false;
    } catch {
      return true;
    } finally {
      database.close();
    }
  }
  const [locks] = await target.rows<{ count: bigint }>(
    `SELECT count(*) FROM pg_locks WHERE relation = 'plants'::regclass AND mode = 'RowExclusiveLock'`,
  );
  return Number(locks?.count) > 0;
}

/** A store with a token and so many plants that a restore can be met at work, its backup, and what `backup` printed. */
let large: SqliteStore;
let largeFile: string;
let made: Ran;
beforeAll(async () => {
  large = new SqliteStore();
  largeFile = join(large.folder, 'backup.sqlite');
  await cli(large, 'migrate');
  await makeToken(large, 'nursery');
  await large.execute(fillWith(60_000));
  made = await cli(large, `backup ${largeFile}`);
});
afterAll(() => large.remove());

/** Starts a restore of that backup in a process of its own. */
const restoreLarge = () =>
  spawnCli(['restore', largeFile], { cwd: target.folder, env: { DATABASE_URL: target.url } });

it.each(['SIGKILL', 'SIGTERM'] as const)('a restore ended by %s leaves nothing', async (signal) => {
  const child = restoreLarge();
  const ended = once(child, 'exit');
  while (!(await isBeingFilled())) await sleep(5);
  child.kill(signal);
  expect(await ended).toEqual([null, signal]);
  expect(await contentOf(target)).toEqual(['', '']);
  expect(await cli(target, `restore ${largeFile}`)).toEqual(made);
  expect(await contentOf(target)).toEqual(await contentOf(large));
});

it.each([
  ['plants', "INSERT INTO plants (id, name) VALUES (1, 'own')"],
  ['plants', "INSERT INTO plants (id, name) VALUES (9223372036854775807, 'highest')"],
  ['tokens', "INSERT INTO tokens (name, hash, created_at) VALUES ('own', 'h', 1)"],
])('a store that is not empty is left as it is: %s, %s', async (kind, sql) => {
  put(source, PLANTS);
  await makeToken(source, 'nursery');
  await cli(source, `backup ${file}`);
  await target.execute(sql);
  const before = await contentOf(target);
  expect(await cli(target, `restore ${file}`)).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: the store has ${kind}: nothing was written; stop the service, keep its plants, but not its tokens, by \`bin/plant-store export plants.ndjson\`, restore into an empty one (docs/operating.md#restore), and, once the service runs on that, with a token that is active there \`PLANT_STORE_TOKEN=… bin/plant-store import plants.ndjson\`\n`,
  });
  expect(await contentOf(target)).toEqual(before);
});

it('of two restores at once one fills the store, and the other writes nothing', async () => {
  const children = [restoreLarge(), restoreLarge()];
  const ran = await Promise.all(children.map(untilEnd));
  expect(ran.map(({ code }) => code).sort()).toEqual([0, 1]);
  expect(ran.find(({ code }) => code === 1)).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(
      /: another (process writes to it|service, or a restore, is running on)|the store has plants: /,
    ),
  });
  expect(await contentOf(target)).toEqual(await contentOf(large));
});

it('what others write during a restore waits for its end, or fails', async () => {
  const restoring = untilEnd(restoreLarge());
  while (!(await isBeingFilled())) await sleep(5);
  const created = await cli(target, 'token create late');
  const { code } = await restoring;
  expect({ code, created: [0, 1].includes(Number(created.code)) }).toEqual({
    code: 0,
    created: true,
  });
  await target.execute("DELETE FROM tokens WHERE name = 'late'");
  expect(await contentOf(target)).toEqual(await contentOf(large));
});

it('a file of a backup may have any name', async () => {
  for (const command of ['backup a$b.sqlite', 'backup --verify a$b.sqlite'])
    expect(await cli(source, command)).toMatchObject({ code: 0, stderr: '' });
});

it('a backup of an older version that has all columns is verified and restored', async () => {
  put(source, PLANTS);
  await makeToken(source, 'nursery');
  await cli(source, `backup ${file}`);
  const backup = Object.assign(Object.create(source) as SqliteStore, { path: file });
  // As 2.0.0 made it.
  await backup.execute(`
    DROP TABLE backups; ALTER TABLE plant_store_migrations RENAME TO migrations;
    DELETE FROM migrations WHERE name LIKE 'CreateBackups%'`);
  const verified = await cli(source, `backup --verify ${file}`);
  expect(verified).toMatchObject({ code: 0, stderr: '' });
  expect((await cli(target, `restore ${file}`)).code).toBe(0);
  expect(await contentOf(target)).toEqual(await contentOf(source));
});

it('restore reports a store that did not keep what it was given', async () => {
  put(source, PLANTS);
  await cli(source, `backup ${file}`);
  await target.execute(
    ENGINE === 'sqlite'
      ? `CREATE TRIGGER change AFTER INSERT ON plants
         BEGIN UPDATE plants SET tag = 'other' WHERE id = NEW.id; END`
      : `CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql
         AS $$ BEGIN NEW.tag = 'other'; RETURN NEW; END $$;
         CREATE TRIGGER change BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION change()`,
  );
  expect(await cli(target, `restore ${file}`)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^error: plants differ: 11, sha256 \w+ instead of 11, sha256 /),
  });
  expect(await target.count()).toBe(0);
});

it('a damaged backup is refused, and nothing is written', async () => {
  put(source, PLANTS);
  await cli(source, `backup ${file}`);
  flipBit(file, 'highest');
  const stderr = expect.stringContaining('the backup is damaged: plants differ: ');
  expect(await cli(target, `restore ${file}`)).toEqual({ code: 1, stdout: '', stderr });
  expect(await contentOf(target)).toEqual(['', '']);
});

it('restore does not create a missing store', async () => {
  await cli(source, `backup ${file}`);
  const missing = join(source.folder, 'missing', 'store.sqlite');
  if (ENGINE === 'sqlite') Object.assign(target, { url: `sqlite:${missing}` });
  else await target.execute('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  const reason =
    ENGINE === 'sqlite'
      ? `there is no file ${missing}: run this in the service's folder, or set DATABASE_URL; only for a new store,`
      : 'it is empty: for a new store';
  const stderr = `error: DATABASE_URL: the store cannot be opened: ${reason} run \`bin/plant-store migrate\`${ENGINE === 'sqlite' ? '' : '; to have plants back, restore a backup (docs/operating.md#restore)'}\n`;
  for (const line of [`backup ${file}.2`, `restore ${file}`, 'export', 'export x.ndjson'])
    expect([line, await cli(target, line)]).toEqual([line, { code: 1, stdout: '', stderr }]);
  expect(readdirSync(source.folder).sort()).toEqual(['backup.sqlite', 'data']);
  if (ENGINE === 'postgres') {
    expect(await target.rows("SELECT 1 FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  }
});
