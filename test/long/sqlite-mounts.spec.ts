/** @engine sqlite */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { untilEnd } from '../support/cli.js';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { runMain, ServiceProcess } from '../support/service-process.js';

/** Runs a command where one path is mounted on another. Needs root or user namespaces. */
const mounted = (from: string, to: string) => [
  ...['unshare', '--map-root-user', '--mount', 'sh', '-c'],
  ...['mount --bind "$1" "$2" && shift 2 && exec "$@"', 'sh', from, to],
];

makeStore();

/** A folder with a blank, which the list of mounts escapes. */
let folder: string;
let url: string;
beforeEach(async () => {
  folder = `${store.folder}/a second`;
  url = `sqlite:${folder}/store.sqlite`;
  mkdirSync(folder);
  writeFileSync(`${folder}/store.sqlite`, '');
  expect((await cli('migrate')).code).toBe(0);
});

async function run(line: string, under: readonly string[]) {
  const [program = '', ...args] = [
    ...under,
    process.execPath,
    'dist/src/cli.js',
    ...line.split(' '),
  ];
  return await untilEnd(
    spawn(program, args, { env: { PATH: process.env.PATH, DATABASE_URL: url } }),
  );
}

describe('a file of a store that is itself a mount is refused, as the others would be in another folder', () => {
  it('the file: by the service and by each command', async () => {
    const under = mounted(store.path, `${folder}/store.sqlite`);
    const stderr = expect.stringContaining(
      `${folder}/store.sqlite is itself a mount: mount its folder, with all files of the store\n`,
    );
    expect(await runMain(store, { DATABASE_URL: url }, under)).toMatchObject({ code: 1, stderr });
    for (const line of [
      'token create a',
      'token list',
      'migrate',
      'export',
      'check',
      'backup b.sqlite',
    ])
      expect(await run(line, under)).toMatchObject({ code: 1, stderr, stdout: '' });
  });

  it.each(['-wal', '-shm', '-lock', '-id'])('its %s', async (suffix) => {
    const path = `${folder}/store.sqlite${suffix}`;
    for (const one of [path, `${store.folder}/empty`]) writeFileSync(one, '');
    const under = mounted(`${store.folder}/empty`, path);
    expect(await runMain(store, { DATABASE_URL: url }, under)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${path} is itself a mount: `),
    });
  });
});

it('a folder that is a mount has a store', async () => {
  const under = mounted(folder, folder);
  const service = await ServiceProcess.start({ store, env: { DATABASE_URL: url }, under });
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  await service.kill();
});

it('a folder that something is mounted over: 503 says so, until it is unmounted', async () => {
  const service = await ServiceProcess.start({
    store,
    env: { DATABASE_URL: url, MANAGEMENT_PORT: '0' },
    under: mounted(folder, folder),
  });
  const create = async (id: bigint) => (await service.client().create({ id, name: 'oak' })).status;
  expect(await create(1n)).toBe(200);
  const inside = (...command: string[]) =>
    execFileSync('nsenter', [
      ...['--target', String(service.pid), '--user', '--preserve-credentials', '--mount'],
      ...command,
    ]);
  inside('mount', '-t', 'tmpfs', 'none', folder);
  const { details } = await service.monitor.until(503, 'store');
  expect(details.store?.message).toBe(
    `${folder}/store.sqlite is hidden while the service runs: something is mounted over its folder: unmount it by \`umount '${folder}'\``,
  );
  expect(await create(2n)).toBe(503);
  inside('umount', folder);
  await service.monitor.until(200);
  expect(await create(3n)).toBe(200);
  await service.kill();
});

it('a backup that is a mount is verified', async () => {
  expect((await cli('backup backup.sqlite')).code).toBe(0);
  renameSync(`${folder}/store.sqlite`, `${folder}/b.sqlite`);
  const under = mounted(`${store.folder}/backup.sqlite`, `${folder}/b.sqlite`);
  const line = [
    ...under,
    process.execPath,
    'dist/src/cli.js',
    'backup',
    '--verify',
    `${folder}/b.sqlite`,
  ];
  const [program = '', ...args] = line;
  const { code, stderr } = await untilEnd(
    spawn(program, args, { env: { PATH: process.env.PATH } }),
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
});
