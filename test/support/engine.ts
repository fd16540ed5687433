import { PostgresStore } from './postgres-store.js';
import { SqliteStore } from './sqlite-store.js';
import type { TemporaryStore } from './temporary-store.js';

/** The engine under test: jest.config.js has a project for each. */
export const { ENGINE } = globalThis as unknown as { ENGINE: 'sqlite' | 'postgres' };

/** Creates a store on the engine under test. */
export async function createStore(): Promise<TemporaryStore> {
  if (ENGINE === 'sqlite') return new SqliteStore();
  return PostgresStore.create(process.env.TEST_DATABASE_URL ?? '');
}
