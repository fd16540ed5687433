/** @engine sqlite */
import { copyFileSync, renameSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { StoreUnavailableException } from '../../errors/error-codes.js';
import { FIELDS, Plant } from '../../plants/plant.entity.js';
import { PlantsRepository } from '../../plants/plants.repository.js';
import { openStore, type Store } from '../store.js';
import { toStoreError } from '../store-errors.js';

const oak = (fields: Partial<Plant> = {}): Plant => {
  const audit = { createdBy: 'token:1', createdAt: '1763700000000' };
  return Object.assign(new Plant(), { id: '1', name: 'oak', tag: null, ...audit }, fields);
};

/** Inserts those whose id is free, and returns how many. */
const insert = (group: readonly Plant[]) =>
  plants.insertRows(group.map((plant) => FIELDS.map((field) => plant[field])));

let file: SqliteStore;
let store: Store;
let plants: PlantsRepository;
beforeEach(async () => {
  file = new SqliteStore();
  const config = readConfig({ DATABASE_URL: file.url });
  store = await openStore(config, [Plant]);
  plants = new PlantsRepository(store.writePath);
});
afterEach(async () => {
  if (store.isInitialized) await store.destroy();
  await file.remove();
});

describe('SqliteWritePath', () => {
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

  it('fails while the file is gone, and goes on once it is back', async () => {
    const group = [oak()];
    renameSync(file.path, `${file.path}.elsewhere`);
    const error = await insert(group).catch(toStoreError);
    expect(error).toBeInstanceOf(StoreUnavailableException);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await insert(group)).toBe(1);
  });

  it('begins on no other file than the one that was opened', async () => {
    const other = new SqliteStore();
    await openStore(readConfig({ DATABASE_URL: other.url })).then((opened) => opened.destroy());
    renameSync(file.path, `${file.path}.elsewhere`);
    copyFileSync(other.path, file.path);
    await expect(insert([oak()])).rejects.toMatchObject({
      driverError: { reason: expect.stringMatching(/ was removed or replaced /) },
    });
    renameSync(file.path, other.path);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await insert([oak()])).toBe(1);
    expect(await other.count()).toBe(0);
    await other.remove();
  });
});
