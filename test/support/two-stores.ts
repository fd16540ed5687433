import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { createSource, createTarget } from './backups.js';
import type { SqliteStore } from './sqlite-store.js';
import type { TemporaryStore } from './temporary-store.js';

/** What is backed up; new for each test of a file that imports this. */
export let source: SqliteStore;
/** Where it is restored to: of the engine under test. */
export let target: TemporaryStore;
/** Where the backup goes, in the source's folder. */
export let file: string;

beforeEach(async () => {
  [source, target] = [await createSource(), await createTarget()];
  file = join(source.folder, 'backup.sqlite');
});
afterEach(async () => {
  await source.remove();
  await target.remove();
});
