/** @engine sqlite */
import { renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { spawnCli, untilEnd } from '../support/cli.js';
import type { SqliteStore } from '../support/sqlite-store.js';
import { cli, createTarget, file, fillWith, makeStores, source, target } from './backups.js';

makeStores();

/** Whether a process has a transaction that writes to a file. */
function isBeingWritten(path: string): boolean {
  const database = new Database(path, { timeout: 0 });
  try {
    database.exec('BEGIN IMMEDIATE');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

it('a restore fails if another store takes the place of the file, and its log is not played back into that', async () => {
  await source.execute(fillWith(60_000));
  expect(await cli(source, `backup ${file}`)).toMatchObject({ code: 0 });
  const { path } = target as SqliteStore;
  const other = (await createTarget()) as SqliteStore;
  await other.execute("INSERT INTO plants (id, name) VALUES (1, 'other')");
  const env = { DATABASE_URL: target.url };
  const restored = untilEnd(spawnCli(['restore', file], { cwd: target.folder, env }));
  while (!isBeingWritten(path)) await sleep(5);
  renameSync(path, `${path}.elsewhere`);
  renameSync(other.path, path);
  expect(await restored).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(
      `\nerror: ${path} was removed or replaced meanwhile, with all that was written: run this again\n`,
    ),
  });
  expect(await cli(target, 'export')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${path}-wal belongs to another file than ${path}`),
  });
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
  expect(await cli(target, 'export')).toMatchObject({ stdout: '{"id":1,"name":"other"}\n' });
  await other.remove();
});
