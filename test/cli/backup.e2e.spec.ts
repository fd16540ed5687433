import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import {
  cli,
  contentOf,
  file,
  fillWith,
  makeStores,
  makeToken,
  PLANTS,
  put,
  source,
  target,
} from './backups.js';
import { StoreSession } from '../../src/database/store-session.js';
import { listOpen, runHere, spawnCli } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { startHere } from '../support/start-here.js';
import type { TemporaryStore } from '../support/temporary-store.js';

makeStores();

const DIGEST = 'sha256 [0-9a-f]{64}\n';
/** Tables of other resources. */
const EMPTY = `(\\w+: 0, ${DIGEST})*`;

const report = (plants: number, tokens: number) =>
  new RegExp(`^${EMPTY}plants: ${plants}, ${DIGEST}${EMPTY}tokens: ${tokens}, ${DIGEST}${EMPTY}$`);

/** The file of a backup as a store. */
function storeOf(backup: string): SqliteStore {
  const store = new SqliteStore();
  mkdirSync(dirname(store.path));
  copyFileSync(backup, store.path);
  return store;
}

/** Starts a backup in a process of its own. */
const startBackup = (store: TemporaryStore) =>
  spawnCli(['backup', file], { cwd: store.folder, env: { DATABASE_URL: store.url } });

describe('backup and restore', () => {
  it('leave no file open', async () => {
    const before = listOpen(source.folder);
    expect(await cli(source, `backup ${file}`)).toMatchObject({ code: 0 });
    expect(await cli(target, `restore ${file}`)).toMatchObject({ code: 0 });
    expect([...listOpen(source.folder), ...listOpen(target.folder)]).toEqual(before);
  });

  it('keep every plant, who created it, and every token, from engine to engine and back', async () => {
    await makeToken(source, 'kept');
    await cli(source, 'token revoke kept');
    await makeToken(source, 'gone');
    await source.execute("DELETE FROM tokens WHERE name = 'gone'");
    const secret = await makeToken(source, 'kept');
    await source.execute('UPDATE tokens SET last_used_at = created_at + 5 WHERE id = 3');
    put(source, PLANTS);
    await source.execute(fillWith(5_000));

    const made = await cli(source, `backup ${file}`);
    const stdout = expect.stringMatching(report(5_000 + PLANTS.length, 2));
    expect(made).toEqual({ code: 0, stdout, stderr: '' });
    expect(await cli(target, `restore ${file}`)).toEqual(made);
    const verified = { ...made, stdout: `${made.stdout}no damage found\n` };
    expect(await cli(source, `backup --verify ${file}`)).toEqual(verified);
    expect(await contentOf(target)).toEqual(await contentOf(source));
    const counted = expect.objectContaining({
      plants: { count: 5_000 + PLANTS.length, sha256: expect.any(String) },
    });
    expect(JSON.parse((await cli(target, `backup ${file} --json`)).stdout)).toEqual(counted);

    // The next token gets a new number.
    const id = `SELECT CAST(id AS bigint) AS id FROM tokens WHERE name = 'next'`;
    await makeToken(target, 'next');
    expect(await target.rows(id)).toEqual([{ id: 4n }]);
    await target.execute("DELETE FROM tokens WHERE name = 'next'");

    const back = `${file}.back`;
    expect(await cli(target, `backup ${back}`)).toEqual(made);
    const again = storeOf(back);
    expect(await startHere(again.url)).toMatchObject({ code: 0 });
    expect(await contentOf(again)).toEqual(await contentOf(source));
    const env = { DATABASE_URL: again.url };
    const known = await runHere(['token', 'verify'], { cwd: again.folder, env, input: secret });
    expect(known).toMatchObject({ code: 0 });
    await again.remove();
  });

  it('continue when nobody reads their output, and leave nothing but the file', async () => {
    await source.execute(fillWith(1_000));
    const child = startBackup(source);
    child.stderr.destroy();
    child.stdout.destroy();
    await once(child, 'exit');
    expect(readdirSync(source.folder).sort()).toEqual(['backup.sqlite', 'data']);
  });

  it('of an empty store are empty', async () => {
    const stdout = expect.stringMatching(report(0, 0));
    for (const line of [`backup ${file}`, `restore ${file}`, `restore ${file}`])
      expect(await cli(target, line)).toEqual({ code: 0, stdout, stderr: '' });
  });

  it('hold one moment of a running service, readable by the owner only', async () => {
    const service = await ServiceProcess.start({ store: target });
    const client = service.client();
    let [stored, isOver] = [0n, false];
    const writing = (async () => {
      while (!isOver) {
        await client.create({ id: stored, name: 'oak' });
        stored += 1n;
      }
    })();
    while (stored < 50n) await sleep(5);
    const before = stored;
    const child = startBackup(target);
    expect(await once(child, 'exit')).toEqual([0, null]);
    isOver = true;
    await writing;
    await service.kill();
    const backup = storeOf(file);
    const ids = (await backup.plants()).map(({ id }) => id);
    expect(ids.length).toBeGreaterThanOrEqual(Number(before));
    expect(ids).toEqual(ids.map((_, i) => BigInt(i)));
    expect(await backup.rows('PRAGMA journal_mode')).toEqual([{ journal_mode: 'delete' }]);
    await backup.remove();
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(readdirSync(source.folder).sort()).toEqual(['backup.sqlite', 'data']);
  });
});

it('backup and check tell of tables that no entity describes', async () => {
  await target.execute(
    'CREATE TABLE orchards (id integer PRIMARY KEY); CREATE TABLE "o 2" (a text)',
  );
  const what = 'no entity of this version describes ';
  const advice =
    ENGINE === 'sqlite' ? ': look what they have, and move them into a file of their own' : '';
  const names = expect.stringMatching(`^(orchards, o 2|o 2, orchards)${advice}\n$`);
  for (const line of [`backup ${file}`, 'check']) {
    const { code, stderr } = await cli(target, line);
    const [before, after] = stderr.split(what);
    expect([line, code, before, after]).toEqual(
      ENGINE === 'sqlite'
        ? [line, 1, 'error: the store has other tables, which no backup would have: ', names]
        : [line, 0, 'warning: left out: ', names],
    );
  }
  expect(readdirSync(source.folder).sort()).toEqual(
    ENGINE === 'sqlite' ? ['data'] : ['backup.sqlite', 'data'],
  );
});

it('backup reports a file that did not keep what it was given, and leaves nothing', async () => {
  put(source, PLANTS);
  const commit = jest.spyOn(StoreSession.prototype, 'commit');
  commit.mockImplementationOnce(async function (this: StoreSession) {
    await this.query("UPDATE plants SET tag = 'other' WHERE name = 'highest'");
    await this.query('COMMIT');
  });
  expect(await cli(source, `backup ${file}`)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/the backup is damaged: plants differ: 11, sha256 /),
  });
  expect(readdirSync(source.folder)).toEqual(['data']);
});
