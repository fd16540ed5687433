import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runMain } from './support/service-process.js';
import { SqliteStore } from './support/sqlite-store.js';

let store: SqliteStore;
beforeEach(() => {
  store = new SqliteStore();
});
afterEach(() => store.remove());

describe('a start that fails says why on stderr, and exits with 1', () => {
  it.each([
    ['a folder', () => mkdirSync(store.path, { recursive: true })],
    ['a file that is no database', () => writeFileSync(made(store.path), 'x'.repeat(5000))],
  ])('a store that is %s', async (_name, spoil) => {
    spoil();
    const { code, stdout, stderr } = await runMain(store, { LOG_LEVEL: 'info' });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^DATABASE_URL: the store cannot be opened: .+\n$/);
  });

  it('a store in a folder that cannot be made', async () => {
    writeFileSync(`${store.folder}/file`, '');
    const url = `sqlite:${store.folder}/file/store.sqlite`;
    const { code, stderr } = await runMain(store, { DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^DATABASE_URL: .+\n$/);
  });
});

/** The path, whose folder is made first. */
function made(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  return path;
}
