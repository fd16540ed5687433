/** @engine sqlite */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from '@jest/globals';
import { makeStore, sqlite as store } from '../../../test/support/own.js';
import { COMMAND } from '../../config/config.js';
import { convertToUtf8, putBackup } from './expected.js';

makeStore();

/** A folder that no other test uses, and a name that a shell must not take apart. */
let file: string;
beforeEach(() => {
  file = `${store.folder}/a gardener's`;
  sqlite3(
    `PRAGMA encoding = 'UTF-16'; CREATE TABLE plants (name);
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
     INSERT INTO plants SELECT printf('%.*c', 100, 'x') FROM n`,
  );
});
const sqlite3 = (sql: string) => String(execFileSync('sqlite3', [file, sql])).trim();
const listNames = () =>
  readdirSync(store.folder)
    .filter((name) => name.startsWith("a gardener's"))
    .map((name) => name.replace("a gardener's", ''));
const run = (command: string) => spawnSync('sh', ['-c', command]).status;

it('convertToUtf8 keeps every row, the file, and what has the names of an earlier use', () => {
  const before = readFileSync(file);
  for (const suffix of ['old', 'sql', 'utf-8']) writeFileSync(`${file}.${suffix}`, suffix);
  expect(run(convertToUtf8(file))).toBe(0);
  expect(sqlite3('PRAGMA encoding; SELECT count(*) FROM plants')).toBe('UTF-8\n1000');
  expect(readFileSync(`${file}.old-2`).equals(before)).toBe(true);
  for (const suffix of ['old', 'sql', 'utf-8'])
    expect(readFileSync(`${file}.${suffix}`, 'utf8')).toBe(suffix);
});

it('convertToUtf8 leaves a file in its place that cannot be read to its end', () => {
  const damaged = readFileSync(file).fill(0xff, 40 * 4096, 45 * 4096);
  writeFileSync(file, damaged);
  expect(run(convertToUtf8(file))).toBe(1);
  expect(readFileSync(file).equals(damaged)).toBe(true);
  expect(listNames()).toEqual(['', '.sql']);
});

it('putBackup uses names that are free', () => {
  const quoted = (suffix: string) => `'${store.folder}/a gardener'\\''s${suffix}'`;
  const command = (fresh: string, old: string) =>
    `${COMMAND} backup ${quoted(fresh)} && mv ${quoted('')} ${quoted(old)} && mv ${quoted(fresh)} ${quoted('')}`;
  expect(putBackup(file)).toBe(command('.new', '.old'));
  for (const suffix of ['new', 'old']) writeFileSync(`${file}.${suffix}`, '');
  expect(putBackup(file)).toBe(command('.new-2', '.old-2'));
});
