/** @engine sqlite */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { runCli, untilEnd } from '../support/cli.js';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';

makeStore();

/** The permissions of the files in the store's folder, in octal, by name. */
function modes(): Record<string, string> {
  const folder = dirname(store.path);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, modeOf(join(folder, name))]));
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}

/** Runs with umask 022, the usual default. */
const UNDER = ['sh', '-c', 'umask 022 && exec "$0" "$@"'];

describe('files of SQLite are accessible to their user only', () => {
  it('at a start of the service: the folder, the file and those beside it', async () => {
    const service = await ServiceProcess.start({ store, under: UNDER });
    await service.client().create({ id: 1n, name: 'oak' });
    expect(modeOf(dirname(store.path))).toBe('700');
    const files = ['', '-lock', '-shm', '-wal'].map((end) => `${basename(store.path)}${end}`);
    expect(Object.keys(modes())).toEqual(expect.arrayContaining(files));
    expect(new Set(Object.values(modes()))).toEqual(new Set(['600']));
    await service.kill();
  });

  it('after a command that creates the store', async () => {
    // Its own process, as the program sets its umask.
    const env = { DATABASE_URL: store.url };
    expect((await runCli(['migrate'], { cwd: store.folder, env })).code).toBe(0);
    expect(modeOf(dirname(store.path))).toBe('700');
    expect(new Set(Object.values(modes()))).toEqual(new Set(['600']));
  });

  it('but an existing folder keeps its permissions', async () => {
    const folder = dirname(store.path);
    mkdirSync(folder);
    chmodSync(folder, 0o755);
    const service = await ServiceProcess.start({ store, under: UNDER });
    await service.kill();
    expect(modeOf(folder)).toBe('755');
    expect(modeOf(store.path)).toBe('600');
  });
});

it("files that root's commands make beside a store belong to its owner", async () => {
  for (const line of ['migrate', 'backup backup.sqlite']) expect((await cli(line)).code).toBe(0);
  const { uid, gid } = userInfo();
  // Other users have no other owner to give a file to.
  const owner = uid || 1;
  chownSync(store.path, owner, gid);
  expect((await cli('restore backup.sqlite')).code).toBe(0);
  // A file that was replaced has this too.
  writeFileSync(`${store.path}-id`, '7');
  expect((await cli('token create nursery')).code).toBe(0);
  const folder = dirname(store.path);
  const owners = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).uid]);
  const files = ['', '-id', '-lock'].map((end) => [`${basename(store.path)}${end}`, owner]);
  expect(owners.sort()).toEqual(files);
});

/** Without root's right to ignore permissions. */
const UNPRIVILEGED =
  userInfo().uid === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

/** As another user's service has left it. */
function makeLock(): string {
  const lock = `${store.path}-lock`;
  if (!existsSync(lock)) writeFileSync(lock, '');
  return lock;
}

it.each([
  ['import', ["error: EACCES: permission denied, open '", "' for user "]],
  ['config --env-file', ['must be a readable file in UTF-8: ', ' (EACCES for user ']],
])('without the right to read a file, %s names it, and the user', async (command, [open, by]) => {
  const file = join(store.folder, 'secret');
  writeFileSync(file, '', { mode: 0o000 });
  const [program, ...args] = [...UNPRIVILEGED, process.execPath, '--', 'dist/src/cli.js'];
  const env = { ...process.env, PLANT_STORE_TOKEN: 'x' };
  const { stderr } = await untilEnd(
    spawn(program, [...args, ...command.split(' '), file], { env }),
  );
  expect(stderr).toContain(`${open}${file}${by}${userInfo().username}`);
});

describe('without the right to write', () => {
  /** Runs the program on a store. */
  function run(line: string, url = store.url) {
    const env = { ...process.env, DATABASE_URL: url, PORT: '0', MANAGEMENT_PORT: 'off' };
    const [program, ...args] = [...UNPRIVILEGED, process.execPath, 'dist/src/cli.js', line];
    return untilEnd(spawn(program, args, { env }));
  }

  // The service opens a store as `migrate` does, and locks it.
  it.each([
    ['to the folder of a new store', 'migrate', () => store.folder, 0o500, false],
    ['to the folder', 'migrate', () => dirname(store.path), 0o500, true],
    ['to the file', 'migrate', () => store.path, 0o400, true],
    ['to its lock', 'serve', makeLock, 0o444, true],
  ])('%s `%s` names it, and the user', async (_name, line, getPath, mode, exists) => {
    if (exists) await cli('migrate');
    chmodSync(getPath(), mode);
    const url = exists ? store.url : `sqlite:${store.folder}/new.sqlite`;
    const ran = await run(line, url);
    chmodSync(getPath(), 0o700);
    expect(ran).toMatchObject({
      code: 1,
      stderr:
        'error: DATABASE_URL: the store cannot be opened: ' +
        `user ${userInfo().username} cannot write to ${getPath()} (EACCES)\n`,
    });
  });

  const CANNOT_WRITE = `user ${userInfo().username} cannot write to `;
  it.each([
    ['to the folder', () => dirname(store.path), 0o500, CANNOT_WRITE],
    ['and to read the file', () => store.path, 0o000, CANNOT_WRITE],
    ['and to search the folder', () => dirname(store.path), 0o000, "permission denied, stat '"],
  ])('%s a command that reads says so', async (_name, getPath, mode, reason) => {
    await cli('migrate');
    const path = getPath();
    chmodSync(path, mode);
    const ran = await run('export');
    chmodSync(path, 0o700);
    const stderr = expect.stringContaining('error: DATABASE_URL: the store cannot be opened: ');
    expect(ran).toMatchObject({ code: 1, stdout: '', stderr });
    expect(ran.stderr).toContain(`${reason}${path}`);
  });
});
