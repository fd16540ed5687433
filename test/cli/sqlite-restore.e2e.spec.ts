/** @engine sqlite */
import { renameSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { spawnCli, untilEnd } from '../support/cli.js';
import type { SqliteStore } from '../support/sqlite-store.js';
import { cli, createTarget, file, fillWith, hasId, makeStores, source, target } from './backups.js';

makeStores();

it('a restore fails if another store takes the place of the file, and its log is not played back into that', async () => {
  await source.execute(fillWith(60_000));
  expect(await cli(source, `backup ${file}`)).toMatchObject({ code: 0 });
  const filled = target as SqliteStore;
  const { path } = filled;
  const other = (await createTarget()) as SqliteStore;
  await other.execute("INSERT INTO plants (id, name) VALUES (1, 'other')");
  const env = { DATABASE_URL: target.url };
  const restored = untilEnd(spawnCli(['restore', file], { cwd: target.folder, env }));
  while (!hasId(filled)) await sleep(5);
  renameSync(path, `${path}.elsewhere`);
  renameSync(other.path, path);
  expect(await restored).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(
      `error: ${path} was removed or replaced meanwhile, with all that was written: run this again\n`,
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
