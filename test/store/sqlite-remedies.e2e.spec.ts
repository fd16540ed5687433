/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync, symlinkSync, truncateSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { listCommands } from '../support/remedy.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

let service: ServiceProcess;
makeStore(() => service.kill());

const env = { MANAGEMENT_PORT: '0' };
const sh = (command: string) => execFileSync('sh', ['-c', command]);
const create = async (id: bigint) => (await service.client().create({ id, name: 'oak' })).status;
const ids = async () => (await store.plants()).map(({ id }) => id);
const [file, wal, shm] = ['', '-wal', '-shm'].map((suffix) => () => store.path + suffix) as [
  () => string,
  () => string,
  () => string,
];
const elsewhere = () => `${store.folder}/a gardener's.sqlite`;

/** Plants in the file alone, and in the log alone. */
const STORED = [1n, 2n];
beforeEach(async () => {
  service = await ServiceProcess.start({ store, env });
  expect(await create(1n)).toBe(200);
  expect(await cli('backup backup.sqlite')).toMatchObject({ code: 0 });
  // What is written next begins the log anew.
  await store.execute('PRAGMA wal_checkpoint(PASSIVE)');
  expect(await create(2n)).toBe(200);
});

/** Stops the service, and opens the store as the next start does. */
async function restart(): Promise<void> {
  await service.stop();
  await expectStart();
}

async function expectStart(): Promise<void> {
  expect(await startHere(store.url)).toMatchObject({ code: 0 });
}

/** The reason that /readyz has, once it contains a text. */
const findReason = (text = '') => service.monitor.untilProblem(text);

const replace = () => {
  copyFileSync(`${store.folder}/backup.sqlite`, `${store.folder}/copy.sqlite`);
  renameSync(`${store.folder}/copy.sqlite`, file());
};

const PUT_BACK = ' was put back by a copy while the service runs: restart the service';

describe('what the message says keeps every acknowledged plant', () => {
  it('what is moved away is moved back, and the service goes on', async () => {
    const moves: readonly (readonly [reason: RegExp, make: () => unknown])[] = [
      [/: put it back by `mv '/, () => renameSync(file(), elsewhere())],
      [
        // A start through the link would look for the log beside the file itself.
        /: put it back by `mv '.*s.sqlite' '.*store.sqlite'`$/,
        () => {
          renameSync(file(), elsewhere());
          symlinkSync(elsewhere(), file());
        },
      ],
      [
        // Another file is there now.
        /: put it back by `mv .*store.sqlite' '.*store.sqlite.new' && mv '/,
        () => {
          renameSync(file(), elsewhere());
          replace();
        },
      ],
      [
        /: put it back by `mv '.*s.sqlite' '.*data'`$/,
        () => renameSync(dirname(file()), elsewhere()),
      ],
    ];
    const expected = [...STORED];
    for (const [reason, make] of moves) {
      await make();
      const found = await findReason();
      expect(found).toMatch(reason);
      expect(await create(4n)).toBe(503);
      for (const command of listCommands(found).slice(0, 1)) sh(command);
      await service.monitor.until(200);
      const id = BigInt(expected.length + 10);
      expect(await create(id)).toBe(200);
      expected.push(id);
    }
    await service.stop();
    expect(await ids()).toEqual(expected);
    expect(await cli('check')).toMatchObject({ code: 0 });
  });

  it.each<[what: string, make: () => unknown, reason: RegExp, then: string | undefined]>([
    [
      'the file is removed',
      () => rmSync(file()),
      /: its rows are in this process alone: before it stops, put them back by `cp -p \/proc\//,
      PUT_BACK,
    ],
    [
      'the file, its log and its index are removed',
      () => [file, wal, shm].forEach((path) => rmSync(path())),
      /put them back by `cp -p \/proc\/\d+\/fd\/\d+ '.*-wal' && cp -p \/proc\/\d+\/fd\/\d+ '.*store.sqlite'`/,
      PUT_BACK,
    ],
    [
      'its folder is removed',
      () => rmSync(dirname(file()), { recursive: true }),
      /put them back by `mkdir -m 700 '.*data' && cp -p /,
      PUT_BACK,
    ],
    [
      'another file replaces it, and it is gone',
      replace,
      /`mv '.*store.sqlite' '.*store.sqlite.new' && cp -p \/proc\//,
      PUT_BACK,
    ],
    [
      'its log is removed',
      () => rmSync(wal()),
      /-wal was removed or replaced .* restart the service$/,
      undefined,
    ],
    [
      'the index of its log is removed',
      () => rmSync(shm()),
      /-shm was removed or replaced .* restart the service$/,
      undefined,
    ],
    [
      'a backup is restored into it by SQLite',
      () => sh(`sqlite3 '${file()}' '.restore ${store.folder}/backup.sqlite'`),
      /: restart the service, which then has what was copied, and what was stored since; if that was a mistake, export the latter \(export --audit tells when each plant was created\), restore a backup \(docs\/operating\.md#restore\), and import them: clients send again what is still missing$/,
      undefined,
    ],
  ])('%s', async (what, make, reason, then) => {
    const isRestored = what.includes('restored');
    await make();
    const found = await findReason();
    expect(found).toMatch(reason);
    expect(await create(4n)).toBe(503);
    const [command] = listCommands(found);
    if (command !== undefined) sh(command);
    if (then) await findReason(then);
    await restart();
    // The backup was made when there was one plant.
    expect(await ids()).toEqual(isRestored ? [1n] : STORED);
    expect(await cli('check')).toMatchObject({ code: 0 });
  });

  it('plants that were stored since a backup was restored by SQLite, and copied into the file', async () => {
    // Long enough for a checkpoint by sqlite3, as it restores.
    const large = `sqlite:${store.folder}/large.sqlite`;
    await cli('migrate', large);
    sh(
      `sqlite3 '${store.folder}/large.sqlite' "INSERT INTO plants (id, name) VALUES (-1, printf('%.*c', 9000000, 'x'))"`,
    );
    sh(`sqlite3 '${file()}' '.restore ${store.folder}/large.sqlite'`);
    const stored = [-1n];
    const client = service.client();
    const isStored = async (id: bigint) =>
      (await client.create({ id, name: 'oak' })).status === 200;
    for (let id = 10n; await isStored(id); id++) stored.push(id);
    expect(await findReason()).toMatch(/^another database was copied into /);
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    expect(await cli('check')).toMatchObject({ code: 0 });
    expect(await ids()).toEqual(stored);
    await expectStart();
  });

  it('to keep the file that is there now: the other one, and its log, stay as well', async () => {
    renameSync(file(), elsewhere());
    replace();
    const [, moveLog = ''] = listCommands(await findReason());
    await service.stop();
    sh(moveLog);
    await expectStart();
    expect(await ids()).toEqual([1n]);
    renameSync(elsewhere(), file());
    renameSync(`${wal()}.old`, wal());
    rmSync(`${store.path}-id`);
    await expectStart();
    expect(await ids()).toEqual(STORED);
  });

  it('to keep an overwritten file, its log is moved away', async () => {
    copyFileSync(`${store.folder}/backup.sqlite`, file());
    const [moveLog = ''] = listCommands(await findReason());
    expect(moveLog).toBe(`mv '${wal()}' '${wal()}.old'`);
    expect(await service.stop()).toEqual({ code: 74, signal: null });
    sh(moveLog);
    await expectStart();
    expect(await ids()).toEqual([1n]);
    expect(existsSync(`${wal()}.old`)).toBe(true);
  });

  it('a log that was cut: a restart has what is in the file', async () => {
    truncateSync(wal(), 0);
    expect(await findReason()).toMatch(/-wal was overwritten .*; restart the service$/);
    await restart();
    expect(await ids()).toEqual(expect.arrayContaining([1n]));
  });
});

it('a file in UTF-16 is refused by the service and each command, until it is converted as the message says', async () => {
  await service.stop();
  const dump = String(sh(`sqlite3 '${file()}' .dump`));
  rmSync(file());
  rmSync(`${store.path}-id`);
  execFileSync('sqlite3', [file()], { input: `PRAGMA encoding = 'UTF-16';\n${dump}` });
  const { stderr } = await startHere(store.url);
  expect(stderr).toContain('its texts are UTF-16le, not UTF-8: stop the service, then `sqlite3 ');
  for (const line of [
    'migrate',
    'check',
    'export',
    'backup b.sqlite',
    'token create a',
    'token list',
  ])
    expect(await cli(line)).toMatchObject({ code: 1, stdout: '', stderr });
  sh(listCommands(stderr)[0] ?? '');
  service = await ServiceProcess.start({ store, token: service.token });
  expect(await create(5n)).toBe(200);
  expect(await ids()).toEqual([...STORED, 5n]);
});
