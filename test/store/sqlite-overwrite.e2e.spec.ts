/** @engine sqlite */
import {
  copyFileSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

let service: ServiceProcess;
makeStore(() => service.kill());
beforeEach(async () => {
  service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  expect(await create(1n)).toBe(200);
});

const backup = () => `${store.folder}/backup.sqlite`;
const create = async (id: bigint) => (await service.client().create({ id, name: 'oak' })).status;
const ids = async () => (await store.plants()).map(({ id }) => id);

/** Moves the file away, has another service run on it there, and moves it back. */
async function useElsewhere(): Promise<void> {
  const path = `${store.folder}/elsewhere.sqlite`;
  renameSync(store.path, path);
  expect(await startHere(`sqlite:${path}`)).toMatchObject({ code: 0 });
  renameSync(path, store.path);
}

describe('once a file is overwritten, nothing more is acknowledged, and a stop leaves the files as they are', () => {
  it.each<[string, string, () => unknown]>([
    ['the log is emptied', '-wal', () => truncateSync(`${store.path}-wal`)],
    ['the log is cut', '-wal', () => truncateSync(`${store.path}-wal`, 8_192)],
    [
      'the log gets another header',
      '-wal',
      () => writeFileSync(`${store.path}-wal`, Buffer.alloc(32, 1), { flag: 'r+' }),
    ],
    ['the file is emptied', '', () => truncateSync(store.path)],
    ['the file is cut', '', () => truncateSync(store.path, 8_192)],
    ['a backup is copied over it', '', () => copyFileSync(backup(), store.path)],
    ['another service has written to it elsewhere', '', useElsewhere],
  ])('%s', async (_what, suffix, overwrite) => {
    const path = store.path + suffix;
    expect(await cli('backup backup.sqlite')).toMatchObject({ code: 0 });
    // The backup was recorded in the store.
    await service.monitor.until(200);
    const kept = readFileSync(path);
    const inode = statSync(path).ino;
    await overwrite();
    expect(statSync(path).ino).toBe(inode);

    // Until the next inspection a plant may still be committed.
    await service.monitor.until(503, 'store');
    for (const id of [1n, 2n]) expect(await create(id)).toBe(503);
    const reason = `${path} was overwritten while the service runs: acknowledged plants may be lost; `;
    // A lookup of a token may have failed too.
    await service.monitor.untilProblem(reason);

    const files = ['', '-wal'].map((end) => store.path + end);
    const found = files.map((file) => readFileSync(file));
    expect(await service.stop()).toEqual({ code: 74, signal: null });
    expect(service.output).toContain(reason);
    expect(files.map((file) => readFileSync(file))).toEqual(found);

    writeFileSync(path, kept);
    expect(await startHere(store.url)).toMatchObject({ code: 0 });
    expect(await ids()).toEqual([1n]);
  });
});

it('a copy of the log from before, over which the next commit has written an end, is noticed', async () => {
  expect(await create(2n)).toBe(200);
  const before = readFileSync(`${store.path}-wal`);
  expect(await create(3n)).toBe(200);
  // An inspection begins every second.
  await sleep(3_000);
  writeFileSync(`${store.path}-wal`, before);
  await create(4n);
  const { details } = await service.monitor.until(503, 'store');
  expect(details.store?.message).toContain(
    `${store.path}-wal was overwritten while the service runs`,
  );
});

it('what SQLite writes to the files for others is no harm', async () => {
  await store.execute(`
    INSERT INTO plants (id, name)
      WITH RECURSIVE ids (id) AS (SELECT 100 UNION ALL SELECT id + 1 FROM ids LIMIT 900)
      SELECT id, printf('%.1000c', 'x') FROM ids;
    PRAGMA wal_checkpoint(TRUNCATE)`);
  expect(await create(2n)).toBe(200);
  const { size } = statSync(store.path);
  await store.execute('DELETE FROM plants WHERE id >= 100; VACUUM');
  expect(await create(3n)).toBe(200);
  for (const mode of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE']) {
    await store.execute(`PRAGMA wal_checkpoint(${mode})`);
    expect(await create(3n)).toBe(200);
  }
  expect(statSync(store.path).size).toBeLessThan(size / 2);
  expect(await cli('backup backup.sqlite')).toMatchObject({ code: 0 });
  await service.monitor.until(200);
  expect(await create(4n)).toBe(200);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  expect(await ids()).toEqual([1n, 2n, 3n, 4n]);
});
