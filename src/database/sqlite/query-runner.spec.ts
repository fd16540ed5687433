/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Database from 'better-sqlite3';
import { QueryFailedError, type EntityManager } from 'typeorm';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { readConfig } from '../../config/environment.js';
import { Plant } from '../../plants/plant.entity.js';
import { openStore, type Store } from '../store.js';
import { getConnection } from './query-runner.js';

let file: SqliteStore;
let store: Store;
let manager: EntityManager;
beforeAll(async () => {
  file = new SqliteStore();
  store = await openStore(readConfig({ DATABASE_URL: file.url }), [Plant]);
  ({ manager } = store.writePath);
});
afterAll(async () => {
  await store.destroy();
  await file.remove();
});

const OAK = { id: '9223372036854775807', name: 'oak', tag: null, createdBy: null, createdAt: '5' };

it("TypeORM's driver still has its connection where getConnection() finds it", () => {
  expect(getConnection(store)).toBeInstanceOf(Database);
});

describe("TypeORM's query runner on the thread", () => {
  it('runs what repositories, builders and plain queries send', async () => {
    const plants = manager.getRepository(Plant);
    await plants.insert(OAK);
    expect(await plants.find()).toEqual([OAK]);
    const updated = await plants.update(OAK.id, { tag: 't' });
    expect(updated.affected).toBe(1);
    expect(await manager.query('SELECT tag FROM plants')).toEqual([{ tag: 't' }]);
    expect(await manager.query('DELETE FROM plants')).toEqual([{ count: 1 }]);
  });

  it('fails as TypeORM does', async () => {
    await expect(manager.query('SELECT nothing')).rejects.toThrow(QueryFailedError);
  });

  it('refuses transactions of several statements', async () => {
    await expect(manager.transaction(() => Promise.resolve())).rejects.toThrow(
      'each statement on the thread is its own transaction',
    );
  });
});
