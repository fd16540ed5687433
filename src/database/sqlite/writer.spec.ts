/** @engine sqlite */
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { COLUMNS, Plant } from '../../plants/plant.entity.js';
import { PlantsRepository } from '../../plants/plants.repository.js';
import { openStore, type Store } from '../store.js';
import { toStoreError } from '../store-errors.js';
import { dropLog } from './engine.js';
import { identifyFiles } from './files.js';
import { SqliteThread } from './writer-thread.js';

const EMPTY = Object.fromEntries(COLUMNS.map(({ field }) => [field, null]));
const oak = (fields: Partial<Plant> = {}): Plant => {
  const audit = { createdBy: 'token:1', createdAt: '1763700000000' };
  return Object.assign(new Plant(), EMPTY, { id: '1', name: 'oak', ...audit }, fields);
};

/** Inserts those whose id is free, and returns how many. */
const insert = (group: readonly Plant[]) =>
  plants.insertRows(group.map((plant) => COLUMNS.map(({ field }) => plant[field])));

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
  if (store.isInitialized) await store.destroy();
  await file.remove();
});

/** A store that is closed, without a log, as a backup is: opening it to write changes it. */
async function makeOther(): Promise<SqliteStore> {
  const other = new SqliteStore();
  await openStore(readConfig({ DATABASE_URL: other.url })).then((opened) => opened.destroy());
  dropLog(other.path);
  return other;
}

describe('SqliteWriter', () => {
  it('tells how many it inserted, each id to its last digit', async () => {
    const ids = ['-9223372036854775808', '9007199254740993', '9223372036854775807'];
    const group = ids.map((id) => oak({ id }));
    expect(await insert(group)).toBe(3);
    expect(await insert([...group, oak({ tag: '' })])).toBe(1);
    const stored = await file.plants();
    expect(stored.map(({ id }) => String(id))).toEqual([ids[0], '1', ids[1], ids[2]]);
  });

  it('ends before the store does: what is in flight is stored, and nothing more is taken', async () => {
    const inFlight = insert([oak()]);
    await store.destroy();
    expect(await inFlight).toBe(1);
    expect(await file.count()).toBe(1);
    const error = await insert([oak({ id: '2' })]).catch(toStoreError);
    expect(error).toMatchObject({ reason: 'the store is closed' });
  });

  it('keeps the log from growing with what is written', async () => {
    const MB = 2 ** 20;
    const name = 'x'.repeat(MB);
    for (let id = 0; id < 200; id++) {
      await insert([oak({ id: String(id), name })]);
    }
    expect(statSync(`${file.path}-wal`).size).toBeLessThan(100 * MB);
    expect(await file.count()).toBe(200);
  });

  it('begins on no other file than the one that was opened', async () => {
    const other = await makeOther();
    renameSync(file.path, `${file.path}.elsewhere`);
    copyFileSync(other.path, file.path);
    await expect(insert([oak()])).rejects.toMatchObject({
      driverError: { reason: expect.stringMatching(/ was removed or replaced /) },
    });
    expect(readFileSync(file.path).equals(readFileSync(other.path))).toBe(true);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await insert([oak()])).toBe(1);
    await other.remove();
  });

  it('writes to the file that the store is in, wherever a link leads by then', async () => {
    const link = `${file.folder}/link.sqlite`;
    symlinkSync(file.path, link);
    await using linked = await openStore(readConfig({ DATABASE_URL: `sqlite:${link}` }), [Plant]);
    plants = new PlantsRepository(linked, linked.writer);
    const other = await makeOther();
    unlinkSync(link);
    symlinkSync(other.path, link);
    expect(await insert([oak()])).toBe(1);
    expect(await file.count()).toBe(1);
    await other.remove();
  });

  it('writes nothing to a file that is moved away while the thread opens it', async () => {
    const opened = identifyFiles(file.path);
    const unlock = await file.lock();
    const before = countDescriptors(file.path);
    // Each waits a tenth of a second for the lock.
    const pragmas = new Array<string>(500).fill('wal_checkpoint(RESTART)');
    const abandoned = new Int32Array(1);
    const thread = new SqliteThread({
      file: file.path,
      opened,
      timeoutMs: 1_000,
      pragmas,
      abandoned,
    });
    const insert = thread.run("INSERT INTO plants (id, name) VALUES (1, 'oak')");
    while (countDescriptors(file.path) === before) await sleep(5);
    renameSync(file.path, `${file.path}.elsewhere`);
    await unlock();
    await expect(insert).rejects.toMatchObject({
      reason: expect.stringMatching(/ was removed |disk I\/O error/),
    });
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await file.count()).toBe(0);
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
