import { copyFileSync, renameSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { readConfig } from '../config/read-config.js';
import type { StoreWriter } from './engine.js';
import { openStore } from './open-store.js';
import { sqlite } from './sqlite.js';
import { StoreAwayError } from './store-away.js';

const OAK = { id: '1', name: 'oak', tag: null, createdBy: 'token:1', createdAt: '1763700000000' };

let file: SqliteStore;
let store: DataSource;
let writer: StoreWriter;
beforeEach(async () => {
  file = new SqliteStore();
  const config = readConfig({ DATABASE_URL: file.url });
  store = await openStore(config);
  writer = sqlite.openWriter(store, config);
});
afterEach(async () => {
  await writer.close();
  await store.destroy();
  await file.remove();
});

describe('SqliteWriter', () => {
  it('returns the ids that it inserted, to their last digit', async () => {
    const plants = ['9223372036854775807', '9007199254740993', '-9223372036854775808'].map(
      (id) => ({ ...OAK, id }),
    );
    expect((await writer.insertPlants(plants)).sort()).toEqual(plants.map(({ id }) => id).sort());
    const again = [...plants, { ...OAK, id: '1', tag: '' }];
    expect(await writer.insertPlants(again)).toEqual(['1']);
    expect(await file.count()).toBe(4);
  });

  it('keeps the log from growing with what is written', async () => {
    const MB = 2 ** 20;
    const name = 'x'.repeat(MB);
    for (let id = 0; id < 200; id++) {
      await writer.insertPlants([{ ...OAK, id: String(id), name }]);
    }
    expect(statSync(`${file.path}-wal`).size).toBeLessThan(100 * MB);
    expect(await file.count()).toBe(200);
  });

  it('fails while the file is gone, and goes on once it is back', async () => {
    const plants = [OAK];
    renameSync(file.path, `${file.path}.elsewhere`);
    await expect(writer.insertPlants(plants)).rejects.toThrow(StoreAwayError);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await writer.insertPlants(plants)).toEqual(['1']);
  });

  it('begins on no other file than the one that was opened', async () => {
    const other = new SqliteStore();
    await openStore(readConfig({ DATABASE_URL: other.url })).then((opened) => opened.destroy());
    renameSync(file.path, `${file.path}.elsewhere`);
    copyFileSync(other.path, file.path);
    await expect(writer.insertPlants([OAK])).rejects.toThrow(/ was removed or replaced /);
    renameSync(file.path, other.path);
    renameSync(`${file.path}.elsewhere`, file.path);
    expect(await writer.insertPlants([OAK])).toEqual(['1']);
    expect(await other.count()).toBe(0);
    await other.remove();
  });
});
