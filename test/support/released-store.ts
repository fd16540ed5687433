import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ENGINE } from './engine.js';
import { sqlite, store } from './own.js';
import { read } from './published.js';

/** What each version itself has made: three plants, a token, and a revoked one. 1.0.0 and 2.0.0 made the same schema. */
export const STORES = 'test/support/stores';

/** Makes the test's store one that this version has made. */
export async function openStoreOf(version: string): Promise<void> {
  if (ENGINE === 'postgres') {
    const schema = version < '3' ? read(`${STORES}/schema.sql`) : '';
    await store.execute(schema + read(`${STORES}/${version}.sql`));
    return;
  }
  mkdirSync(dirname(sqlite.path));
  copyFileSync(`${STORES}/${version}.sqlite`, sqlite.path);
}
