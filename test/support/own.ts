import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { runHere, type Ran } from './cli.js';
import { createStore } from './engine.js';
import { ServiceProcess, type Start } from './service-process.js';
import type { Service } from './service.js';
import type { SqliteStore } from './sqlite-store.js';
import type { TemporaryStore } from './temporary-store.js';

/** The store of a test; new for each test of a file or `describe` that calls `makeStore`. */
export let store: TemporaryStore;
/** The same store, for tests of SQLite. */
export let sqlite: SqliteStore;
/** The service of a file's tests, or of those of a `describe`, that calls `startService`. */
export let service: Service;
/** The same in a process of its own, for one that calls `startProcess`. */
export let serviceProcess: ServiceProcess;

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

/** Runs a command on the store, or on another. */
export const cli = (line: string, url = store.url): Promise<Ran> =>
  runHere(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: url } });

/** Starts `service` before all tests, and stops it after them. */
export function startService(env?: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    // Imported here: most users of this file do not need the application.
    const { Service } = await import('./service.js');
    service = await Service.start(env);
  });
  afterAll(() => service.stop());
}

/** Starts `serviceProcess` before all tests, and removes it and its store after them. */
export function startProcess(options?: Start): void {
  beforeAll(async () => {
    serviceProcess = await ServiceProcess.start(options);
  });
  afterAll(() => serviceProcess.remove());
}
