/** @engine sqlite */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, globSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { makeStore, store } from '../support/own.js';
import { read } from '../support/published.js';
import { requestText, RawConnection } from '../support/raw-connection.js';
import { Log } from '../support/secrecy.js';

makeStore();

/** Makes a folder whose `npm start` runs the existing build, which other tests use at the same time. */
function makeProject(): string {
  const project = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const scripts = { ...project.scripts, build: 'true' };
  writeFileSync(join(store.folder, 'package.json'), JSON.stringify({ ...project, scripts }));
  for (const name of ['bin', 'dist', 'node_modules', 'ormconfig.ts', 'src']) {
    symlinkSync(resolve(name), join(store.folder, name));
  }
  return store.folder;
}

/** Runs `npm start` as the leader of a process group, as a shell does. */
function npmStart(env: Readonly<Record<string, string>> = {}) {
  const { PATH, HOME } = process.env;
  const own = { PORT: '0', MANAGEMENT_PORT: 'off', DATABASE_URL: store.url, LOG_LEVEL: 'info' };
  const npm = spawn('npm', ['start'], {
    cwd: makeProject(),
    env: { PATH, HOME, ...own, ...env },
    detached: true,
  });
  const log = new Log();
  for (const stream of [npm.stdout, npm.stderr])
    stream.on('data', (chunk: Buffer) => log.write(chunk));
  return { pid: npm.pid ?? NaN, log, closed: once(npm, 'close') };
}

/** Resolves once the log matches; rejects if the process ends before. */
async function said({ log, closed }: ReturnType<typeof npmStart>, text: RegExp): Promise<string> {
  const ended = closed.then(() => true);
  for (;;) {
    const match = text.exec(log.text);
    if (match) return match[1] ?? '';
    if (await Promise.race([sleep(10), ended])) throw new Error(log.text);
  }
}

/** Resolves once no process of the group is left. */
async function gone(group: number): Promise<void> {
  try {
    for (;;) {
      process.kill(-group, 0);
      await sleep(10);
    }
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' });
  }
}

describe('npm start behaves as one process', () => {
  it.each([
    ['npm', 'SIGTERM'],
    // Ctrl-C
    ['its process group', 'SIGINT'],
  ] as const)('%s gets a %s: the service stops once, in order', async (to, signal) => {
    const npm = npmStart();
    const token = await said(npm, / (plant_\w+)\n[^]*curl/);
    const port = await said(npm, /:(\d+)\/plants/);
    const connection = await RawConnection.open(Number(port));
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const text = requestText(headers, '{"id":1,"name":"oak"}');
    connection.write(text);
    expect((await connection.read()).status).toBe(200);
    connection.write(text.slice(0, -5));
    process.kill(to === 'npm' ? npm.pid : -npm.pid, signal);
    await said(npm, new RegExp(`${signal}: (stopping)`));
    connection.write(text.slice(-5));
    // The second copy of the signal, from npm, must not end the service at once.
    expect((await connection.read()).status).toBe(200);
    expect(await npm.closed).toEqual([0, null]);
    expect(npm.log.text.match(/: stopping$/gm)).toHaveLength(1);
    expect(npm.log.text.match(/ stopped$/gm)).toHaveLength(1);
    await gone(npm.pid);
  });

  it('it exits with the code of the service', async () => {
    const npm = npmStart({ DATABASE_URL: `sqlite:${store.folder}` });
    expect(await npm.closed).toEqual([1, null]);
    expect(npm.log.text).toContain('DATABASE_URL: the store cannot be opened');
  });
});

it('a build removes what it once made of sources that are gone, such as an entity', () => {
  const make = (path: string) => {
    mkdirSync(dirname(join(store.folder, path)), { recursive: true });
    writeFileSync(join(store.folder, path), '', { mode: 0o755 });
  };
  const kept = ['dist/src/a/x.js', 'dist/src/a/x.js.map', 'dist/test/y.js', 'src/a/x.ts'];
  const stale = ['dist/src/a/z.entity.js', 'dist/src/b c/z.js', 'dist/src/b c/z.js.map'];
  // Programs that do nothing.
  const programs = ['node_modules/.bin/nest', 'node_modules/.bin/node'];
  for (const path of [...kept, ...stale, ...programs]) make(path);
  cpSync('bin', join(store.folder, 'bin'), { recursive: true });
  execFileSync(join(store.folder, 'bin/build'));
  expect(globSync('{src,dist}/**/*.*', { cwd: store.folder }).sort()).toEqual(kept);
});

it('a clone in a folder with the name of its sources builds as any other', () => {
  const clone = join(store.folder, 'src');
  for (const name of ['bin', 'src', '.swcrc', 'nest-cli.json', 'ormconfig.ts', 'package.json'])
    cpSync(name, join(clone, name), { recursive: true });
  for (const name of ['tsconfig.json', 'tsconfig.build.json']) cpSync(name, join(clone, name));
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
  execFileSync(join(clone, 'bin/build'), { stdio: 'ignore' });
  expect(globSync('dist/{ormconfig,src/cli}.js', { cwd: clone })).toHaveLength(2);
});

it('npm start runs an existing build as it is where the packages that build are not installed', () => {
  const make = (path: string, text = '') => {
    mkdirSync(dirname(join(store.folder, path)), { recursive: true });
    writeFileSync(join(store.folder, path), text);
  };
  make('dist/src/cli.js', 'console.log(process.argv[2])');
  make('src/newer.ts');
  make('ormconfig.ts');
  utimesSync(join(store.folder, 'dist/src/cli.js'), 0, 0);
  mkdirSync(join(store.folder, 'node_modules/.bin'), { recursive: true });
  for (const name of ['bin', 'package.json', 'package-lock.json'])
    cpSync(name, join(store.folder, name), { recursive: true });
  const { PATH, HOME } = process.env;
  const options = { cwd: store.folder, env: { PATH, HOME }, encoding: 'utf8' } as const;
  const start = () => spawnSync('npm', ['start', '--silent'], options);
  const stderr = expect.stringMatching(/^warning: dist is older than src: .*\n$/);
  expect(start()).toMatchObject({ status: 0, stdout: 'serve\n', stderr });
  for (const path of ['ormconfig.ts', 'src/newer.ts', 'src'])
    utimesSync(join(store.folder, path), 0, 0);
  expect(start()).toMatchObject({ status: 0, stdout: 'serve\n', stderr: '' });
});

it.each([
  'npm start --silent',
  'npm test --silent',
  'npm run --silent build',
  'bin/plant-store',
  'bin/plant-store token list',
])('%s before `npm ci` says to run that', (command) => {
  for (const name of ['bin', 'package.json', 'package-lock.json', '.npmrc', 'ormconfig.ts', 'src'])
    cpSync(name, join(store.folder, name), { recursive: true });
  const { PATH, HOME } = process.env;
  const options = {
    cwd: store.folder,
    env: { PATH, HOME },
    encoding: 'utf8',
    shell: true,
  } as const;
  const { status, stdout, stderr } = spawnSync(command, options);
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: 'error: the packages are not installed: run `npm ci`\n',
  });
});
