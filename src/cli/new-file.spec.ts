/** @engine sqlite */
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import Database from 'better-sqlite3';
import { readConfig } from '../config/environment.js';
import { OutputError, readCode } from '../errors/operator-message.js';
import { makeFile } from './new-file.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-file-'));
  file = join(folder, 'backup.sqlite');
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const config = readConfig({});
/** Makes a store of the least size, and writes to it. */
const fillStore = (path: string) =>
  new Database(path).exec('PRAGMA max_page_count = 1; CREATE TABLE plants (id)').close();
const write = (path: string): Promise<void> => writeFile(path, 'new');

describe('a file that is made', () => {
  it('does not replace a store that a service was started on meanwhile', async () => {
    writeFileSync(file, 'old');
    const made = makeFile(file, config, (path) => {
      writeFileSync(`${file}-wal`, 'log');
      return write(path);
    });
    await expect(made).rejects.toThrow('a store that is in use');
    expect(readFileSync(file, 'utf8')).toBe('old');
  });

  it('is written apart from what another process makes at its place', async () => {
    await makeFile(file, config, async (path) => {
      await makeFile(file, config, (other) => writeFile(other, 'other'));
      return write(path);
    });
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['backup.sqlite']);
  });

  it.each<[string, (path: string) => unknown]>([
    ['SQLite', fillStore],
    ['Node.js', () => writeFileSync('/dev/full', 'new')],
  ])('is named where %s finds no space for it', async (_who, fill) => {
    const made = makeFile(file, config, async (path) => {
      await write(path);
      fill(join(folder, 'full.sqlite'));
    });
    await expect(made).rejects.toThrow(`${file}: `);
  });

  it('is synced under its first name, and its folder once it has the last one', async () => {
    await using handle = await open(folder);
    const synced: unknown[] = [];
    const sync = jest.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync');
    sync.mockImplementation(async function (this: typeof handle) {
      const { ino } = await this.stat();
      synced.push({ isFolder: ino === statSync(folder).ino, isInPlace: existsSync(file) });
    });
    await makeFile(file, config, write);
    expect(synced).toEqual([
      { isFolder: false, isInPlace: false },
      { isFolder: true, isInPlace: true },
    ]);
  });

  it.each([
    ['whose file system cannot sync folders, as some shares', 'EINVAL', undefined],
    ['whose file system cannot, and says it otherwise', 'ENOTSUP', undefined],
    ['that its user may not read', 'EACCES', undefined],
    ['on a disk that fails', 'EIO', 'EIO'],
  ])('in a folder %s: %s', async (_which, code, failure) => {
    await using handle = await open(folder);
    const prototype = Object.getPrototypeOf(handle) as typeof handle;
    const sync = jest.spyOn(prototype, 'sync').mockResolvedValueOnce();
    sync.mockRejectedValueOnce(Object.assign(new Error(code), { code }));
    const made = makeFile(file, config, write).catch((error: unknown) => readCode(error));
    expect(await made).toBe(failure);
    expect(readFileSync(file, 'utf8')).toBe('new');
  });

  it('is named where the disk has no space for what it has taken', async () => {
    await using handle = await open(folder);
    const reason = 'ENOSPC: no space left on device';
    const sync = jest.spyOn(Object.getPrototypeOf(handle) as typeof handle, 'sync');
    sync.mockRejectedValueOnce(new Error(`${reason}, fsync`));
    const made = makeFile(file, config, write);
    await expect(made).rejects.toThrow(OutputError);
    await expect(made).rejects.toThrow(`${file}: ${reason}`);
    expect(readdirSync(folder)).toEqual([]);
  });
});
