/** @engine sqlite */
import {
  closeSync,
  copyFileSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import Database from 'better-sqlite3';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { Plant } from '../../plants/plant.entity.js';
import { PlantsRepository } from '../../plants/plants.repository.js';
import { openStore, type Store } from '../store.js';
import { StoreProblem, toStoreError } from '../store-errors.js';
import { identifyCompanions } from './files.js';
import { identifyFile } from './place.js';
import { SqliteThread, type LogSize } from './writer-thread.js';

/** Inserts a plant if its id is free, and returns how many were inserted. */
async function insert(id: string, name = 'oak'): Promise<number> {
  const plant = Object.assign(new Plant(), { id: BigInt(id), name });
  return (await plants.insertOrCompare([plant])).inserted;
}

let file: SqliteStore;
let store: Store;
let plants: PlantsRepository;
beforeEach(async () => {
  file = new SqliteStore();
  const config = readConfig({ DATABASE_URL: file.url });
  store = await openStore(config, [Plant]);
  plants = new PlantsRepository(store, store.writer);
});
afterEach(async () => {
  jest.restoreAllMocks();
  if (store.isInitialized) await store.destroy();
  await file.remove();
});

/** A store that is closed, without a log, as a backup is: opening it to write changes it. */
async function makeOther(): Promise<SqliteStore> {
  const other = new SqliteStore();
  await openStore(readConfig({ DATABASE_URL: other.url })).then((opened) => opened.destroy());
  await other.execute('PRAGMA journal_mode = DELETE');
  return other;
}

describe('SqliteWriter', () => {
  it('ends before the store does: what is in flight is stored, and nothing more is taken', async () => {
    const inFlight = insert('1');
    await store.destroy();
    expect(await inFlight).toBe(1);
    expect(await file.count()).toBe(1);
    const error = await insert('2').catch(toStoreError);
    expect(error).toMatchObject({ reason: 'the store is closed' });
  });

  it('ends in order though the file was moved away meanwhile', async () => {
    const exit = jest.spyOn(store.writer, 'abortAndExit').mockResolvedValue();
    expect(await insert('1')).toBe(1);
    renameSync(file.path, `${file.path}.elsewhere`);
    await store.destroy();
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(exit).not.toHaveBeenCalled();
    expect(await file.count()).toBe(1);
  });

  it('keeps the log from growing, and warns of a reader that makes it grow', async () => {
    const MB = 2 ** 20;
    const name = 'x'.repeat(MB);
    const write = async (from: number, to: number) => {
      for (let id = from; id < to; id++) await insert(String(id), name);
      return statSync(`${file.path}-wal`).size;
    };
    const logged: string[] = [];
    const log = (line: string) => void logged.push(line);
    Logger.overrideLogger({ log, error: log, warn: log });
    expect(await write(0, 150)).toBeLessThan(100 * MB);
    expect(logged).toEqual([]);
    let next = 150;
    // A part of the log is behind the reader.
    for (let left = 0; left < 5_000; await write(next, ++next)) {
      const [size] = await store.query<LogSize[]>('PRAGMA wal_checkpoint(NOOP)');
      left = (size?.log ?? 0) - (size?.checkpointed ?? 0);
    }
    const reader = new Database(file.path);
    reader.exec('BEGIN');
    reader.prepare('SELECT 1 FROM plants').get();
    const { calls } = jest.spyOn(SqliteThread.prototype, 'run').mock;
    expect(await write(next, (next += 200))).toBeGreaterThan(200 * MB);
    // Each has a part on both threads, every 32 MB.
    const parts = calls.filter(([task]) => typeof task === 'string').length;
    expect(parts).toBeLessThanOrEqual(2 * (200 / 32 + 2));
    const warning = /^the log has grown to 1[2-9]\d MB, as a reader, /;
    expect(logged).toEqual([expect.stringMatching(warning)]);
    reader.close();
    // An inspection finds that the reader has ended.
    await store.writer.inspect();
    while ((await write(next, ++next)) > 100 * MB);
    expect(await file.count()).toBe(next);
  });

  it('runs checkpoints on a thread of their own, as commits go on', async () => {
    await insert('1');
    const before = countDescriptors(file.path);
    await insert('2', 'x'.repeat(40 * 2 ** 20));
    await store.writer.inspect();
    while (countDescriptors(file.path) === before) await sleep(5);
  });

  it('warns of a checkpoint that fails, not at each commit, and runs the next one by an inspection', async () => {
    const logged: string[] = [];
    const warn = (line: string) => void logged.push(line);
    Logger.overrideLogger({ log: warn, error: warn, warn });
    // Past what begins a checkpoint, which opens the file on a thread of its own.
    const long = 'x'.repeat(40 * 2 ** 20);
    expect(await insert('1', long)).toBe(1);
    renameSync(file.path, `${file.path}.elsewhere`);
    // It finds the size of the log, and that the file is gone.
    await expect(store.writer.inspect()).rejects.toThrow(StoreProblem);
    while (logged.length === 0) await sleep(5);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(logged).toEqual([expect.stringMatching(/^checkpoint failed, will be retried: /)]);
    expect(await insert('2', long)).toBe(1);
    await store.writer.inspect();
    while (statSync(file.path).size < 80 * 2 ** 20) await sleep(5);
    expect(logged).toHaveLength(1);
  });

  it('inspects the store while a transaction keeps the connection of repositories', async () => {
    await store.transaction(async () => {
      await store.writer.inspect();
    });
  });

  it('finds a hard link that is made while it is open, until that is gone', async () => {
    linkSync(file.path, `${file.path}.link`);
    const reason = `${file.path} is a hard link: remove each other name that \`find / -samefile '${file.path}' ! -path '${file.path}' 2>/dev/null\` lists, but no second path to its folder, as through a mount`;
    await expect(store.writer.inspect()).rejects.toMatchObject({
      finding: { effect: 'unsafe' },
      reason,
    });
    unlinkSync(`${file.path}.link`);
    await store.writer.inspect();
    expect(await insert('1')).toBe(1);
  });

  it('acknowledges nothing while its folder cannot be entered', async () => {
    expect(await insert('1')).toBe(1);
    const folder = dirname(file.path);
    renameSync(folder, `${folder}.elsewhere`);
    // A link to itself refuses root, too.
    symlinkSync(folder, folder);
    await expect(insert('2')).rejects.toMatchObject({
      driverError: {
        code: 'SQLITE_READONLY_DBMOVED',
        message: expect.stringMatching(/^ELOOP: .*: let the service's user reach it again$/),
      },
    });
    unlinkSync(folder);
    renameSync(`${folder}.elsewhere`, folder);
    expect(await insert('3')).toBe(1);
  });

  it('names a free file in its remedy, though another has come meanwhile', async () => {
    await file.execute(
      'ALTER TABLE plants RENAME TO old; CREATE TABLE plants AS SELECT * FROM old',
    );
    for (const name of ['.new', '.new-2']) {
      const remedy = expect.stringContaining(` backup '${file.path}${name}' && `);
      await expect(store.writer.inspect()).rejects.toMatchObject({ finding: { remedy } });
      writeFileSync(`${file.path}${name}`, '');
    }
  });

  it('acknowledges nothing more once a sync of another connection has failed, as the process ends', async () => {
    Logger.overrideLogger(false);
    const exit = jest.spyOn(store.writer, 'abortAndExit').mockResolvedValue();
    await insert('1');
    const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
    const driver = store.driver as BetterSqlite3Driver;
    (driver.databaseConnection as Database.Database).function('fail', () => {
      throw failure;
    });
    const failed = store.query('SELECT fail()').catch(() => true);
    const queued = plants.insert({ id: 3n, name: 'oak' }).then(() => true);
    while (exit.mock.calls.length === 0) await sleep(5);
    expect(exit).toHaveBeenCalledWith(74);
    const acknowledged = insert('2').then(() => true);
    const found = store.query('SELECT 1').then(() => true);
    while ((await file.count()) < 2) await sleep(5);
    // By then the thread has responded.
    const any = [failed, acknowledged, found, queued];
    expect(await Promise.race([...any, sleep(200, false)])).toBe(false);
    await store.writer.abort();
    // The old one never closes.
    store = await openStore(readConfig({ DATABASE_URL: file.url }), [Plant]);
  });

  it('copies what repositories have written from the log into the file', async () => {
    const name = 'x'.repeat(2 ** 20);
    for (let id = 0; id < 40; id++) await plants.insert({ id: BigInt(id), name });
    // It starts a checkpoint, which goes on behind it.
    await store.writer.inspect();
    while (statSync(file.path).size < 32 * 2 ** 20) await sleep(20);
    expect(await file.count()).toBe(40);
  });

  it('starts the log over while repositories write on and on', async () => {
    const name = 'x'.repeat(2 ** 16);
    // The number of a log, from its header (sqlite.org/fileformat2.html#walformat).
    const countLogs = () => readFileSync(`${file.path}-wal`).readUInt32BE(12);
    const logs = countLogs();
    // On a busy machine an inspection takes long: the writers are no more than 13 MB ahead of it.
    const AHEAD = 200n;
    let [id, last] = [0n, AHEAD];
    const write = async () => {
      while (id < 4_000n) {
        while (id >= last) await sleep(1);
        await plants.insert({ id: id++, name });
        await sleep(1);
      }
    };
    const inspect = async () => {
      while (id < 4_000n) {
        await store.writer.inspect();
        last = id + AHEAD;
        await sleep(10);
      }
    };
    await Promise.all([write(), write(), write(), inspect()]);
    // A write may come in between, and the log then grows until the next checkpoint.
    expect(countLogs() - logs).toBeGreaterThan(0);
  });

  it('begins on no other file than the one that was opened', async () => {
    const other = await makeOther();
    renameSync(file.path, `${file.path}.elsewhere`);
    copyFileSync(other.path, file.path);
    await expect(insert('1')).rejects.toMatchObject({
      driverError: { reason: expect.stringMatching(/ was removed or replaced /) },
    });
    expect(readFileSync(file.path).equals(readFileSync(other.path))).toBe(true);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await insert('1')).toBe(1);
    await other.remove();
  });

  it('begins on no file that replaced the opened one before there was a writer', async () => {
    await using opened = await openStore(readConfig({ DATABASE_URL: file.url }), [Plant]);
    const other = await makeOther();
    renameSync(file.path, `${file.path}.elsewhere`);
    copyFileSync(other.path, file.path);
    plants = new PlantsRepository(opened, opened.writer);
    await expect(insert('1')).rejects.toMatchObject({
      driverError: { reason: expect.stringMatching(/ was removed or replaced /) },
    });
    expect(readFileSync(file.path).equals(readFileSync(other.path))).toBe(true);
    renameSync(`${file.path}.elsewhere`, file.path);
    await other.remove();
  });

  it('writes neither to the file that the store is in, nor where a link leads by then', async () => {
    const link = `${file.folder}/link.sqlite`;
    symlinkSync(file.path, link);
    await using linked = await openStore(readConfig({ DATABASE_URL: `sqlite:${link}` }), [Plant]);
    const other = await makeOther();
    unlinkSync(link);
    symlinkSync(other.path, link);
    plants = new PlantsRepository(linked, linked.writer);
    await expect(insert('1')).rejects.toMatchObject({
      driverError: { reason: expect.stringMatching(/ was removed or replaced /) },
    });
    for (const each of [file, other]) expect(await each.count()).toBe(0);
    unlinkSync(link);
    symlinkSync(file.path, link);
    expect(await insert('1')).toBe(1);
    await other.remove();
  });

  it('writes nothing to a file that is moved away while the thread opens it', async () => {
    const opened = [identifyFile(file.path), ...identifyCompanions(file.path)];
    const unlock = await file.lock();
    const descriptor = openSync(file.path, 'r');
    const before = countDescriptors(file.path);
    // Each waits a tenth of a second for the lock.
    const pragmas = new Array<string>(500).fill('wal_checkpoint(RESTART)');
    const abandoned = new Int32Array(1);
    const options = {
      file: file.path,
      descriptor,
      ids: [],
      opened,
      timeoutMs: 1_000,
      pragmas,
      abandoned,
    };
    const thread = new SqliteThread(options);
    const insert = thread.run(["INSERT INTO plants (id, name) VALUES (1, 'oak')"]);
    while (countDescriptors(file.path) === before) await sleep(5);
    renameSync(file.path, `${file.path}.elsewhere`);
    await unlock();
    await expect(insert).rejects.toMatchObject({
      reason: expect.stringMatching(/ was removed |disk I\/O error/),
    });
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await file.count()).toBe(0);
    await thread.close();
    closeSync(descriptor);
  });
});

/** How many times this process has a file open. */
function countDescriptors(path: string): number {
  const leadsTo = (descriptor: string) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      // It is closed by now.
      return false;
    }
  };
  return readdirSync('/proc/self/fd').filter(leadsTo).length;
}
