import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { runQuietly } from '../support/cli.js';
import { createStore } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';
import type { TemporaryStore } from '../support/temporary-store.js';

/** What each version itself has made: three plants, a token, and a revoked one. */
const STORES = 'test/support/stores';
const PLANTS =
  '{"id":-9223372036854775808,"name":""}\n' +
  '{"id":3,"name":"Common alder","tag":"Alnus glutinosa"}\n' +
  '{"id":9007199254740993,"name":"🌵 \\"Saguaro\\"","tag":""}\n';
const SAGUARO = { id: 9007199254740993n, name: '🌵 "Saguaro"', tag: '' };
const RAN = 'ran CreateBackups1795600000000\n';

let store: TemporaryStore;
afterEach(() => store.remove());

const cli = (line: string) =>
  runQuietly(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: store.url } });

async function openStoreOf(version: string): Promise<void> {
  store = await createStore();
  if (!(store instanceof SqliteStore)) {
    await store.execute(readFileSync(`${STORES}/${version}.sql`, 'utf8'));
    return;
  }
  mkdirSync(dirname(store.path));
  copyFileSync(`${STORES}/${version}.sqlite`, store.path);
}

/** The tokens of that store, active and revoked: the engine's own process made each. */
const readTokens = (version: string) => {
  const engine = store instanceof SqliteStore ? 'sqlite' : 'postgres';
  const lines = readFileSync(`${STORES}/tokens`, 'utf8').split('\n');
  const line = lines.find((each) => each.startsWith(`${version} ${engine} `));
  const [, , active = '', revoked = ''] = line?.split(' ') ?? [];
  return { active, revoked };
};

it.each(['1.0.0', '2.0.0'])('a start upgrades a store of %s: all stays', async (version) => {
  await openStoreOf(version);
  const { active, revoked } = readTokens(version);
  const before = await cli('export');
  expect(before.stderr).toContain(
    'its schema is of an older version: run `bin/plant-store migrate`',
  );
  const service = await ServiceProcess.start({ store, token: active });
  const client = service.client();
  expect((await client.create(SAGUARO)).status).toBe(200);
  expect(await client.create({ ...SAGUARO, tag: 'x' })).toMatchObject({ body: { error: 1004 } });
  const headers = { ...client.headers, authorization: `Bearer ${revoked}` };
  expect((await client.post('{"id":4,"name":"oak"}', headers)).status).toBe(401);
  await service.kill();
  expect(await cli('export')).toEqual({ code: 0, stdout: PLANTS, stderr: '' });
  expect((await cli('check')).code).toBe(0);
  expect((await cli('backup copy.sqlite')).stdout).toContain('plants: 3, sha256');
  // For a way back.
  expect(await store.rows('SELECT name FROM migrations')).not.toEqual([]);
});

it.each(['1.0.0', '2.0.0'])('migrate upgrades a store of %s once', async (version) => {
  await openStoreOf(version);
  expect(await cli('migrate')).toMatchObject({ code: 0, stdout: RAN });
  expect((await cli('migrate')).stdout).not.toContain('ran');
  const list = 'SELECT name FROM plant_store_migrations ORDER BY id';
  expect(await store.rows(list)).toEqual([
    { name: 'CreatePlantsAndTokens1700000000000' },
    { name: 'CreateBackups1795600000000' },
  ]);
});
