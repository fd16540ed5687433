/** @engine sqlite */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readConfig } from './read-config.js';

const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, 'secret');
  writeFileSync(path, text);
  return path;
}

describe('DATABASE_URL_FILE', () => {
  it.each(['sqlite:x', 'sqlite:x\n', 'sqlite:x\r\n'])('holds the value: %j', (text) => {
    const { databaseUrl } = readConfig({ DATABASE_URL_FILE: file(text) });
    expect(databaseUrl).toBe('sqlite:x');
  });

  it.each([
    ['', 'DATABASE_URL_FILE must not name an empty file'],
    ['\n', 'DATABASE_URL_FILE must not name an empty file'],
    ['SECRET', 'host/database (from DATABASE_URL_FILE)'],
  ])('is refused where it holds %j', (text, problem) => {
    expect(() => readConfig({ DATABASE_URL_FILE: file(text) })).toThrow(problem);
    expect(() => readConfig({ DATABASE_URL_FILE: file(text) })).not.toThrow('SECRET');
  });

  it('must be there', () => {
    expect(() => readConfig({ DATABASE_URL_FILE: join(folder, 'none') })).toThrow(
      'DATABASE_URL_FILE must name a file that can be read (ENOENT)',
    );
  });

  it('does not go with DATABASE_URL', () => {
    expect(() => readConfig({ DATABASE_URL: 'sqlite:x', DATABASE_URL_FILE: file('x') })).toThrow(
      'DATABASE_URL and DATABASE_URL_FILE must not both be set',
    );
  });
});
