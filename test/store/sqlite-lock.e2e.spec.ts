/** @engine sqlite */
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runHere } from '../support/cli.js';
import { runMain, ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';

let store: SqliteStore;
let service: ServiceProcess;
const plant = (id: bigint) => ({ id, name: 'oak' });

describe('a SQLite file in use by a service', () => {
  beforeEach(async () => {
    store = new SqliteStore();
    service = await ServiceProcess.start({ store });
  });
  afterEach(() => service.remove());

  it('refuses a second service under any name of the file: one line on stderr, exit 1', async () => {
    const link = `${store.folder}/link.sqlite`;
    symlinkSync(store.path, link);
    for (const url of [store.url, `sqlite:${link}`]) {
      const second = await runMain(store, { DATABASE_URL: url, MIGRATE: 'off' });
      expect(second).toEqual({
        code: 1,
        stdout: expect.any(String),
        stderr:
          `error: DATABASE_URL: the store cannot be opened: another service, or a restore, is running on ${store.path}: ` +
          'stop it first, or give this one a DATABASE_URL of its own\n',
      });
      expect(second.stdout).not.toContain('Plant store: ');
    }
    expect((await service.client().create(plant(1n))).status).toBe(200);
  });

  it('is available to commands', async () => {
    const run = (line: string) => {
      const env = { DATABASE_URL: store.url };
      return runHere(line.split(' '), { cwd: store.folder, env });
    };
    const backup = `${store.folder}/backup.sqlite`;
    for (const line of ['token create other', 'migrate', 'export', `backup ${backup}`]) {
      expect({ line, ...(await run(line)) }).toMatchObject({ line, code: 0 });
    }
    expect(await run(`restore ${backup}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `another service, or a restore, is running on ${store.path}: stop it first`,
      ),
    });
    expect((await service.client().create(plant(1n))).status).toBe(200);
  });

  it('is free again after kill -9, and after a stop', async () => {
    const { token } = service;
    await service.kill();
    service = await ServiceProcess.start({ store, token });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    service = await ServiceProcess.start({ store, token });
    expect((await service.client().create(plant(1n))).status).toBe(200);
  });
});

it('refuses a SQLite file with a hard link, as lock and log belong to one name', async () => {
  const linked = new SqliteStore();
  mkdirSync(dirname(linked.path));
  writeFileSync(linked.path, '');
  linkSync(linked.path, `${linked.folder}/other.sqlite`);
  expect(await runMain(linked, {})).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${linked.path} is a hard link: remove its other names`),
  });
  // A folder has several links too, but is not a file.
  expect(await runMain(linked, { DATABASE_URL: `sqlite:${linked.folder}` })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${linked.folder} is not a file`),
  });
  await linked.remove();
});

it('one of several services that start on a new file runs', async () => {
  const fresh = new SqliteStore();
  const start = () =>
    ServiceProcess.start({ store: fresh, env: { NODE_ENV: 'production' }, token: '-' });
  const starts = await Promise.allSettled([start(), start(), start()]);
  const running = starts.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of running) await one.kill();
  await fresh.remove();
  expect(running).toHaveLength(1);
});
