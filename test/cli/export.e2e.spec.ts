import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { cli, createSource, createTarget, fillWith, PLANTS, put } from './backups.js';
import { runHere, spawnCli, withoutSource } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { Service } from '../support/service.js';
import type { SqliteStore } from '../support/sqlite-store.js';
import type { TemporaryStore } from '../support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createTarget();
});
afterEach(() => store.remove());

/** Copies a SQLite store into the store under test. */
async function restore(fill: (source: SqliteStore) => Promise<unknown>): Promise<void> {
  const source = await createSource();
  await fill(source);
  const backup = join(source.folder, 'backup.sqlite');
  await cli(source, `backup ${backup}`);
  expect(await cli(store, `restore ${backup}`)).toMatchObject({ code: 0 });
  await source.remove();
}

const start = (...args: string[]) =>
  spawnCli(['export', ...args], { cwd: store.folder, env: { DATABASE_URL: store.url } });

/** Limits the milliseconds of a transaction for new connections, if the engine has such a limit. */
async function limitTransactions(limit: string): Promise<void> {
  if (ENGINE === 'sqlite') return;
  await store.execute(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET transaction_timeout ${limit}', current_database()); END $$`,
  );
}

/** The line of a plant in a file to import. */
const lineOf = ({ id, ...rest }: { id: bigint; name: string; tag: string | null }): string => {
  const { name, tag } = rest;
  const others = JSON.stringify(tag === null ? { name } : { name, tag });
  return `{"id":${id},${others.slice(1)}\n`;
};

describe('export', () => {
  it('writes every plant ordered by id, with every digit', async () => {
    await restore((source) => {
      put(source, PLANTS);
      return Promise.resolve();
    });
    const { code, stdout, stderr } = await cli(store, 'export');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(PLANTS.map(lineOf).join(''));
    expect((await cli(store, 'export -')).stdout).toBe(stdout);
  });

  it('imported into another store, exports the same bytes again', async () => {
    await restore(async (source) => {
      put(
        source,
        PLANTS.filter(({ name }) => name.length < 1_000),
      );
      await source.execute(fillWith(200));
    });
    const file = join(store.folder, 'plants.ndjson');
    expect(await cli(store, `export ${file}`)).toEqual({
      code: 0,
      stdout: 'plants: 208\n',
      stderr: '',
    });
    const service = await Service.start();
    const args = ['import', file, '--token', service.token, '--url'];
    const url = `http://127.0.0.1:${service.port}`;
    const env = { DATABASE_URL: service.store.url };
    const cwd = service.store.folder;
    expect(await runHere([...args, url], { cwd })).toMatchObject({ code: 0 });
    const again = await runHere(['export'], { cwd, env });
    expect(again.stdout).toBe((await cli(store, 'export')).stdout);
    await service.stop();
  });

  it('holds one moment, however slow its reader', async () => {
    await restore((source) => source.execute(fillWith(50_000)));
    const before = (await cli(store, 'export')).stdout;
    await limitTransactions('= 300');
    const child = start();
    await once(child.stdout, 'readable');
    await limitTransactions('TO DEFAULT');
    await store.execute('DELETE FROM plants WHERE id > 0');
    await store.execute("INSERT INTO plants (id, name) VALUES (9223372036854775807, 'new')");
    await sleep(400);
    expect(await text(child.stdout)).toBe(before);
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });

  it('ends without a word when its reader has gone', async () => {
    await restore((source) => source.execute(fillWith(50_000)));
    const child = start();
    const stderr = text(child.stderr);
    await once(child.stdout, 'readable');
    child.stdout.destroy();
    expect(await once(child, 'close')).toEqual([141, null]);
    expect(withoutSource(await stderr)).toBe('');
  });
});

describe('the output file of an export', () => {
  it('replaces an existing file atomically, and a link stays a link', async () => {
    await store.execute("INSERT INTO plants (id, name) VALUES (1, 'a')");
    writeFileSync(join(store.folder, 'plants.ndjson'), 'old');
    symlinkSync('plants.ndjson', join(store.folder, 'link'));
    expect((await cli(store, 'export link')).code).toBe(0);
    expect(readFileSync(join(store.folder, 'plants.ndjson'), 'utf8')).toBe('{"id":1,"name":"a"}\n');
  });

  it.each([
    ['folder', /^error: folder is not a file that could be replaced\n$/],
    ['none/plants.ndjson', /^error: [^\n]+\/none: no such file or directory\n$/],
    ['used', /^error: used is not replaced: there is [^\n]+used-wal, of a store [^\n]+\n$/],
  ])('%s is refused', async (file, message) => {
    mkdirSync(join(store.folder, 'folder'));
    for (const name of ['used', 'used-wal']) writeFileSync(join(store.folder, name), 'x');
    const { code, stdout, stderr } = await cli(store, `export ${file}`);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    expect(readFileSync(join(store.folder, 'used'), 'utf8')).toBe('x');
  });

  it('does not exist after a signal ended the export', async () => {
    await restore((source) => source.execute(fillWith(100_000)));
    const child = start('plants.ndjson');
    while (!readdirSync(store.folder).some((name) => name.includes('.partial-'))) await sleep(1);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
    expect(readdirSync(store.folder).filter((name) => name.startsWith('plants'))).toEqual([]);
  });
});
