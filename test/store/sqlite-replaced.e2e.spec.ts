/** @engine sqlite */
import { execSync as sh } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runHere } from '../support/cli.js';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { listCommands } from '../support/remedy.js';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { startHere } from '../support/start-here.js';

let service: ServiceProcess | undefined;
makeStore(async () => {
  await service?.kill();
  service = undefined;
});

/** The ids of plants that are in a copy of the file alone, and of those that are in the log too. */
const [BEFORE, AFTER] = [1n, 2n];
const restored = () => `${store.folder}/restored.sqlite`;
const copy = () => `${store.folder}/copy.sqlite`;

const start = async (env = {}, on = store) => {
  service = await ServiceProcess.start({ store: on, token, env });
  return service;
};
const create = async (id: bigint) => (await service?.client().create({ id, name: 'oak' }))?.status;
const ids = async () => (await store.plants()).map(({ id }) => id);

/** Checks that the store opens, and has every plant that was acknowledged. */
async function expectStart(...expected: bigint[]): Promise<void> {
  expect(await startHere(store.url)).toMatchObject({ code: 0 });
  expect(await ids()).toEqual(expected);
}

/** A store of a service that was stopped, with a copy, a backup and a restored one beside it; and after the next one was killed. */
let stopped: SqliteStore;
let killed: SqliteStore;
let token: string;
beforeAll(async () => {
  stopped = new SqliteStore();
  const { folder, path, url } = stopped;
  service = await ServiceProcess.start({ store: stopped });
  ({ token } = service);
  expect(await create(BEFORE)).toBe(200);
  await service.stop();
  const run = (line: string, to = url) =>
    runHere(line.split(' '), { cwd: folder, env: { DATABASE_URL: to } });
  copyFileSync(path, `${folder}/copy.sqlite`);
  expect((await run('backup backup.sqlite')).code).toBe(0);
  for (const line of ['migrate', 'restore backup.sqlite'])
    expect((await run(line, `sqlite:${folder}/restored.sqlite`)).code).toBe(0);
  killed = new SqliteStore();
  await startAgain(killed);
  await service.kill();
});
afterAll(async () => {
  await stopped.remove();
  await killed.remove();
});

/** Copies the files of a store, by default to that of the test. */
const take = (from: SqliteStore, to = store) => cpSync(from.folder, to.folder, { recursive: true });

/** Starts the service in the stopped store, with a plant that is in its log alone. */
async function startAgain(on = store): Promise<ServiceProcess> {
  take(stopped, on);
  const started = await start({}, on);
  expect(await create(AFTER)).toBe(200);
  return started;
}

const old = () => `${store.folder}/old.sqlite`;
const replace = (source: string) => {
  renameSync(store.path, old());
  renameSync(source, store.path);
};

/** Copies the store's folder. Returns the function that puts the copy in its place. */
function keepFolder(): () => void {
  const [folder, aside] = [dirname(store.path), `${store.folder}/aside`];
  cpSync(folder, aside, { recursive: true });
  return () => {
    rmSync(folder, { recursive: true });
    renameSync(aside, folder);
  };
}

describe('the log of a file is not played back into another one', () => {
  it.each<[string, () => unknown]>([
    [
      'a restored store that replaced it while the service ran, which then stopped',
      async () => {
        const running = await startAgain();
        replace(restored());
        await running.stop();
      },
    ],
    [
      'a restored store that replaced it before the service was killed',
      async () => {
        const running = await startAgain();
        replace(restored());
        await running.kill();
      },
    ],
    [
      'a copy from before the start, that replaced it after a kill',
      () => {
        take(killed);
        replace(copy());
      },
    ],
    [
      'a backup that was copied over it after a kill',
      () => {
        take(killed);
        copyFileSync(store.path, old());
        copyFileSync(`${store.folder}/backup.sqlite`, store.path);
      },
    ],
  ])('%s: refused until the operator decides', async (_what, end) => {
    await end();
    const log = `${store.path}-wal`;
    const logged = readFileSync(log);
    const [keepNew, isCopy] = ['-wal', '-id'].map(
      (suffix) => `mv '${store.path}${suffix}' '${store.path}${suffix}.old'`,
    );
    const refusal =
      `${log} belongs to another file than ${store.path}: stop the service; to have what was acknowledged, put the file ` +
      `back that was here, with this log beside it, or restore a backup (docs/operating.md#restore); to keep the file that is here now, \`${keepNew}\`; ` +
      `if file and log were copied together, \`${isCopy}\`\n`;
    const failed = { code: 1, stderr: expect.stringContaining(refusal) };
    expect(await cli('migrate')).toMatchObject({ ...failed, stdout: '' });
    const found = readFileSync(store.path);
    for (const line of ['token create a', 'export', 'check', 'backup b.sqlite'])
      expect(await cli(line)).toMatchObject({ ...failed, stdout: '' });
    expect(await startHere(store.url)).toMatchObject(failed);
    expect(readFileSync(store.path).equals(found)).toBe(true);
    expect(readFileSync(log).equals(logged)).toBe(true);

    const restore = keepFolder();
    sh(String(keepNew));
    expect((await cli('migrate')).code).toBe(0);
    expect(await ids()).toEqual([BEFORE]);

    restore();
    renameSync(old(), store.path);
    await expectStart(BEFORE, AFTER);
  });
});

describe('no store is made where the file is missing, and what belongs to it is there', () => {
  const STARTS = ['migrate', 'token create a', 'export'];

  it.each(['-wal', '-id', '-journal'])(
    'its %s: refused by a start and each command',
    async (suffix) => {
      mkdirSync(dirname(store.path));
      writeFileSync(store.path + suffix, '');
      const reason =
        `there is no file ${store.path}, but there is ${store.path}${suffix} of a store that was here: stop the service and put that very file back, no copy or backup, ` +
        'beside what is left, which may have its latest plants; or restore a backup as in docs/operating.md#restore, which moves the rest away\n';
      const failed = { code: 1, stderr: expect.stringContaining(reason) };
      for (const line of STARTS) expect(await cli(line)).toMatchObject({ ...failed, stdout: '' });
      expect(await startHere(store.url)).toMatchObject(failed);
      expect(existsSync(store.path)).toBe(false);
    },
  );

  it('its -id, and the file is empty: refused by a start and each command', async () => {
    take(killed);
    rmSync(`${store.path}-wal`);
    truncateSync(store.path);
    const reason = `${store.path} is empty, but there is ${store.path}-id of a store that was here: stop the service and put that very file back, `;
    const failed = { code: 1, stderr: expect.stringContaining(reason) };
    for (const line of STARTS) expect(await cli(line)).toMatchObject({ ...failed, stdout: '' });
    expect(await startHere(store.url)).toMatchObject(failed);
    expect(statSync(store.path).size).toBe(0);
  });

  it('by a link that leads to it', async () => {
    take(killed);
    renameSync(store.path, old());
    const link = `${store.folder}/link.sqlite`;
    symlinkSync(store.path, link);
    const reason = `there is no file ${store.path}, but there is ${store.path}-wal of a store that was here: `;
    const stderr = expect.stringContaining(reason);
    expect(await cli('migrate', `sqlite:${link}`)).toMatchObject({ code: 1, stderr });
    renameSync(old(), store.path);
    await expectStart(BEFORE, AFTER);
  });

  it('and a process that still has it open is named, with the command that puts it back', async () => {
    const running = await startAgain();
    rmSync(store.path);
    const { stderr } = await cli('migrate');
    const [, command = ''] = /before that stops, put it back by `(.*)`\n$/.exec(stderr) ?? [];
    expect(command).toMatch(/^cp -p \/proc\/\d+\/fd\/\d+ '/);
    sh(command);
    await running.stop();
    await expectStart(BEFORE, AFTER);
  });

  it('with its log, if that was removed too: not of a process that has the file alone', async () => {
    const running = await startAgain();
    // This process comes first in /proc.
    const descriptor = openSync(store.path, 'r');
    for (const suffix of ['', '-wal', '-shm']) rmSync(store.path + suffix);
    const { stderr } = await cli('token list');
    const [command = ''] = listCommands(stderr);
    sh(command);
    closeSync(descriptor);
    const [log, file] = ['-wal', ''].map(
      (suffix) => `cp -p /proc/\\d+/fd/\\d+ '${store.path}${suffix}'`,
    );
    expect(command).toMatch(new RegExp(`^${log} && ${file}$`));
    await running.stop();
    await expectStart(BEFORE, AFTER);
  });
});

describe('a killed service starts again', () => {
  it('in a copy of its folder', async () => {
    take(killed);
    keepFolder()();
    await expectStart(BEFORE, AFTER);
  });

  it('as a copy of the file and its log alone, or as one of an earlier version', async () => {
    take(killed);
    rmSync(`${store.path}-id`);
    await expectStart(BEFORE, AFTER);
  });

  it('as a copy of the file and its log in the place of another store, as the message says', async () => {
    take(killed);
    writeFileSync(`${store.path}-id`, '7');
    const { stderr } = await cli('export');
    sh(listCommands(stderr).at(-1) ?? '');
    await expectStart(BEFORE, AFTER);
    expect(readFileSync(`${store.path}-id.old`, 'utf8')).toBe('7');
  });

  it('after a start that a reader kept from the checkpoint', async () => {
    take(killed);
    const reader = store.open();
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM plants').get();
    const running = await start({ DATABASE_TIMEOUT: '1s' });
    // A busy machine takes longer than that for the first one.
    while ((await create(3n)) !== 200);
    await running.kill();
    // Closing the reader would do the checkpoint.
    const restore = keepFolder();
    reader.close();
    restore();
    await expectStart(BEFORE, AFTER, 3n);
  });
});

describe('a file that replaced another in order', () => {
  it('may have a log of its own, by a command', async () => {
    take(stopped);
    replace(restored());
    const reader = store.open();
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM plants').get();
    // The reader keeps its log.
    expect((await cli('token create a')).code).toBe(0);
    expect(readFileSync(`${store.path}-wal`).length).toBeGreaterThan(0);
    expect((await cli('export')).code).toBe(0);
    await start({ DATABASE_TIMEOUT: '1s' });
    reader.close();
    expect(await ids()).toEqual([BEFORE]);
  });

  it('is not written while a service runs on the other, even if that has an empty log', async () => {
    take(stopped);
    await start();
    expect(readFileSync(`${store.path}-wal`)).toHaveLength(0);
    replace(restored());
    expect(await cli('token create a')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`is running on ${store.path}: stop it first`),
    });
  });
});
