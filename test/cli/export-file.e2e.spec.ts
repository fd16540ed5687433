/** @engine sqlite */
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import { fillWith } from './backups.js';
import { spawnCli } from '../support/cli.js';
import { cli, makeStore, store } from '../support/own.js';

makeStore();
beforeEach(() => cli('migrate'));

const start = (...args: string[]) =>
  spawnCli(['export', ...args], { cwd: store.folder, env: { DATABASE_URL: store.url } });

it('an export ends without a word when its reader has gone', async () => {
  await store.execute(fillWith(50_000));
  const child = start();
  const stderr = text(child.stderr);
  await once(child.stdout, 'readable');
  child.stdout.destroy();
  expect(await once(child, 'close')).toEqual([141, null]);
  expect(await stderr).toBe('');
});

it('the file of an export replaces an existing file atomically, and a link stays a link', async () => {
  await store.execute("INSERT INTO plants (id, name) VALUES (1, 'a')");
  writeFileSync(join(store.folder, 'plants.ndjson'), 'old');
  symlinkSync('plants.ndjson', join(store.folder, 'link'));
  expect((await cli('export link')).code).toBe(0);
  const written = readFileSync(join(store.folder, 'plants.ndjson'), 'utf8');
  expect(written).toBe('{"id":1,"name":"a"}\n');
});

it.each([
  ['folder', 1, /^error: [^\n]+\/folder is not a file\n$/],
  ['none/plants.ndjson', 74, /^error: none\/plants\.ndjson: ENOENT: [^\n]+\/none[^\n]+\n$/],
  ['/proc/x', 74, /^error: \/proc\/x: ENOENT: [^\n]+\n$/],
  // The store itself was moved away: SQLite would play its log into the new file.
  ['gone', 1, /^error: gone is not replaced: there is [^\n]+gone-wal, of a store [^\n]+\n$/],
  ['used', 1, /^error: used is not replaced: there is [^\n]+used-wal, of a store [^\n]+\n$/],
])('an export does not write to %s', async (file, code, message) => {
  mkdirSync(join(store.folder, 'folder'));
  for (const name of ['gone-wal', 'used', 'used-wal']) writeFileSync(join(store.folder, name), 'x');
  const refusal = { code, stdout: '', stderr: expect.stringMatching(message) };
  expect(await cli(`export ${file}`)).toEqual(refusal);
  expect(readFileSync(join(store.folder, 'used'), 'utf8')).toBe('x');
  expect(existsSync(join(store.folder, 'gone'))).toBe(false);
});

it('no file is left after a signal has ended the export', async () => {
  await store.execute(fillWith(100_000));
  const child = start('plants.ndjson');
  while (!readdirSync(store.folder).some((name) => name.includes('.partial-'))) await sleep(1);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  expect(readdirSync(store.folder).filter((name) => name.startsWith('plants'))).toEqual([]);
});
