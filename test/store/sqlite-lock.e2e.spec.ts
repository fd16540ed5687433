/** @engine sqlite */
import { linkSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { listOpen } from '../support/cli.js';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

makeStore();

it('a file in use by a service refuses a second one under any name, and a restore: one line on stderr, exit 1', async () => {
  const service = await ServiceProcess.start({ store });
  const link = `${store.folder}/link.sqlite`;
  symlinkSync(store.path, link);
  const used =
    `another service, or a restore, is running on ${store.path}: ` +
    'stop it first, or give this one a DATABASE_URL of its own\n';
  const stderr = `error: DATABASE_URL: the store cannot be opened: ${used}`;
  for (const url of [store.url, `sqlite:${link}`]) {
    // The lock is found before a migration.
    for (const MIGRATE of ['on', 'off'])
      expect(await startHere(url, { MIGRATE })).toEqual({ code: 1, stdout: '', stderr });
  }
  for (const line of ['migrate', 'backup b.sqlite']) expect((await cli(line)).code).toBe(0);
  expect(await cli('restore b.sqlite')).toMatchObject({ code: 1, stderr });
  expect(listOpen(store.folder)).toEqual([]);
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  await service.kill();
  // The lock has ended with its process.
  expect(await startHere(store.url)).toMatchObject({ code: 0 });
});

it.each([
  ['a file', 'file is not a database', (path: string) => writeFileSync(path, 'x'.repeat(4_096))],
  ['a folder', 'unable to open database file', (path: string) => mkdirSync(path)],
])(
  '%s in the place of the lock is named, and not called damage of the store',
  async (_what, reason, make) => {
    expect((await cli('migrate')).code).toBe(0);
    const lock = `${store.path}-lock`;
    make(lock);
    const advice = `${lock} cannot be locked (${reason}): if no service runs on the store, move it away`;
    expect(await startHere(store.url, { MIGRATE: 'off' })).toMatchObject({
      code: 1,
      stderr: `error: DATABASE_URL: the store cannot be opened: ${advice}\n`,
    });
  },
);

it('refuses a SQLite file with a hard link, as lock and log belong to one name', async () => {
  expect((await cli('migrate')).code).toBe(0);
  const other = `${store.folder}/other.sqlite`;
  linkSync(store.path, other);
  for (const path of [store.path, other]) {
    const url = `sqlite:${path}`;
    const refusal = `${path} is a hard link: remove each other name that \`find / -samefile '${path}' ! -path '${path}' 2>/dev/null\` lists, but no second path to its folder, as through a mount\n`;
    const failed = { code: 1, stderr: expect.stringContaining(refusal) };
    expect(await startHere(url)).toMatchObject(failed);
    for (const line of ['token create a', 'migrate', 'export', 'check', 'backup b.sqlite'])
      expect(await cli(line, url)).toMatchObject({ ...failed, stdout: '' });
  }
  // Nothing has made a log there.
  expect(readdirSync(store.folder).sort()).toEqual(['data', 'other.sqlite']);
  // A folder has several links too, but is not a file.
  expect(await startHere(`sqlite:${store.folder}`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${store.folder} is not a file`),
  });
});

it('verifies and restores a backup that has a hard link, as it has no log', async () => {
  for (const line of ['migrate', 'backup b.sqlite']) expect((await cli(line)).code).toBe(0);
  linkSync(`${store.folder}/b.sqlite`, `${store.folder}/yesterday.sqlite`);
  for (const line of ['backup --verify b.sqlite', 'restore yesterday.sqlite'])
    expect(await cli(line)).toMatchObject({ code: 0, stderr: '' });
});

it('one of several services that start on a new file runs', async () => {
  const start = () => ServiceProcess.start({ store, env: { NODE_ENV: 'production' }, token: '-' });
  const starts = await Promise.allSettled([start(), start(), start()]);
  const running = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of running) await one.kill();
  expect(running).toHaveLength(1);
});
