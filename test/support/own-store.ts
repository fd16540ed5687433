import { afterEach, beforeEach } from '@jest/globals';
import { runQuietly, type Ran } from './cli.js';
import { createStore } from './engine.js';
import type { SqliteStore } from './sqlite-store.js';
import type { TemporaryStore } from './temporary-store.js';

/** The store of a test; new for each test of a file or `describe` that calls `makeStore`. */
export let store: TemporaryStore;
/** The same store, for tests of SQLite. */
export let sqlite: SqliteStore;

/**
 * Creates `store` before each test, and removes it after it.
 *
 * @param end ends what uses it: Jest runs hooks in the order of their definition
 */
export function makeStore(end: () => unknown = () => undefined): void {
  beforeEach(async () => {
    store = await createStore();
    sqlite = store as SqliteStore;
  });
  afterEach(async () => {
    await end();
    await store.remove();
  });
}

/** Runs a command quietly on the store, or on another. */
export const cli = (line: string, url = store.url): Promise<Ran> =>
  runQuietly(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: url } });
