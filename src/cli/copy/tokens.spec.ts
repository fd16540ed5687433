import { expect, it } from '@jest/globals';
import { SqliteStore } from '../../../test/support/sqlite-store.js';
import { migrateStore } from '../../database/open-store.js';
import { readCopyConfig, withStores } from './stores.js';
import { Creators } from './tokens.js';

const OAK = { id: '1', name: 'oak', tag: null, createdAt: '5' };

it('a token that came to the source since they were copied is copied, then named', async () => {
  const [source, target] = [new SqliteStore(), new SqliteStore()];
  const config = readCopyConfig(source.url, target.url);
  for (const side of [config.from, config.to]) await migrateStore(side);
  const add = (store: SqliteStore, hash: string) =>
    store.execute(`INSERT INTO tokens (name, hash, created_at) VALUES ('${hash}', '${hash}', 1)`);
  await add(target, 'own');
  await withStores(config, async (stores) => {
    const creators = new Creators(stores);
    const translated = async (createdBy: string | null) =>
      (await creators.translate([{ ...OAK, createdBy }]))[0];
    await add(source, 'a');
    expect(await translated('token:1')).toEqual({ ...OAK, createdBy: 'token:2' });
    await add(source, 'b');
    expect(await translated('token:2')).toEqual({ ...OAK, createdBy: 'token:3' });
    expect(await translated('token:1')).toEqual({ ...OAK, createdBy: 'token:2' });
    expect(await translated('token:3')).toEqual({ ...OAK, createdBy: null });
    expect(await translated('jwt:token:1')).toEqual({ ...OAK, createdBy: 'jwt:token:1' });
    expect(await translated(null)).toEqual({ ...OAK, createdBy: null });
  });
  for (const store of [source, target]) await store.remove();
});
