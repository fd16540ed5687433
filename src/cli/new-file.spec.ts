/** @engine sqlite */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeFile } from './new-file.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plant-store-file-'));
  file = join(folder, 'backup.sqlite');
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (path: string): Promise<void> => writeFile(path, 'new');

describe('a file that is made', () => {
  it.each(['-wal', '-journal'])(
    'is not put beside a %s, which SQLite would play back into it',
    async (end) => {
      writeFileSync(file + end, 'old');
      await expect(makeFile(file, write)).rejects.toThrow(`there is ${file}${end}`);
      expect(existsSync(file)).toBe(false);
    },
  );

  it('does not replace a store that a service was started on meanwhile', async () => {
    writeFileSync(file, 'old');
    const made = makeFile(file, (path) => {
      writeFileSync(`${file}-wal`, 'log');
      return write(path);
    });
    await expect(made).rejects.toThrow('a store that is in use');
    expect(readFileSync(file, 'utf8')).toBe('old');
  });

  it('is not what another process of the same number makes', async () => {
    let unfinished = '';
    const made = makeFile(file, (path) => {
      rmSync(path);
      return write((unfinished = path));
    });
    await expect(made).rejects.toThrow('another process makes it');
    expect([existsSync(file), existsSync(unfinished)]).toEqual([false, true]);
  });
});
