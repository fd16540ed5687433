import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { MIGRATIONS } from '../../src/database/schema.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { runHere } from '../support/cli.js';
import { defineColumns } from '../support/columns.js';
import { ENGINE } from '../support/engine.js';
import { cli, makeStore, store } from '../support/own.js';
import { read } from '../support/published.js';
import { openStoreOf, STORES } from '../support/released-store.js';
import { ServiceProcess } from '../support/service-process.js';
import { listCommands } from '../support/remedy.js';
import { startHere } from '../support/start-here.js';

makeStore();

const PLANTS =
  '{"id":-9223372036854775808,"name":""}\n' +
  '{"id":3,"name":"Common alder","tag":"Alnus glutinosa"}\n' +
  '{"id":9007199254740993,"name":"🌵 \\"Saguaro\\"","tag":""}\n';
const SAGUARO = { id: 9007199254740993n, name: '🌵 "Saguaro"', tag: '' };

/** The migrations of 3.0.0. A store that has them would be migrated again under other names. */
const RELEASED = ['CreatePlantsAndTokens1700000000000', 'CreateBackups1795600000000'];
const isSchemaOf3 = MIGRATIONS.length === RELEASED.length;

/** The tokens of that store, active and revoked: the engine's own process made each. */
const readTokens = (version: string) => {
  const lines = read(`${STORES}/tokens`).split('\n');
  const line = lines.find((each) => each.startsWith(`${version} ${ENGINE} `));
  const [, , active = '', revoked = ''] = line?.split(' ') ?? [];
  return { active, revoked };
};

/** Runs `token verify` on a token. */
const verify = (input: string) =>
  runHere(['token', 'verify'], { cwd: store.folder, env: { DATABASE_URL: store.url }, input });

it.each(['1.0.0', '2.0.0', '3.0.0', '4.0.0'])(
  'a start upgrades a store of %s: all stays',
  async (version) => {
    await openStoreOf(version);
    const { active, revoked } = readTokens(version);
    const isBefore3 = version < '3';
    const older = 'its schema is of an older version: run `bin/plant-store migrate`';
    if (isBefore3 || !isSchemaOf3) expect((await cli('export')).stderr).toContain(older);
    else expect((await cli('export')).stdout).toBe(PLANTS);
    expect(await startHere(store.url)).toMatchObject({ code: 0 });
    expect((await verify(active)).code).toBe(0);
    expect(await verify(revoked)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(' revoked '),
    });
    expect(await cli('export')).toEqual({ code: 0, stdout: PLANTS, stderr: '' });
    expect((await cli('check')).code).toBe(0);
    expect((await cli('backup copy.sqlite')).stdout).toContain('plants: 3, sha256');
    // For a way back.
    if (isBefore3) expect(await store.rows('SELECT name FROM migrations')).not.toEqual([]);
    const list = 'SELECT name FROM plant_store_migrations ORDER BY id';
    const names = (await store.rows(list)).map((row) => (row as { name: string }).name);
    expect(names).toEqual(MIGRATIONS.map(({ name }) => name));
    expect(names.slice(0, RELEASED.length)).toEqual(RELEASED);
    expect((await cli('migrate')).stdout).toBe('up to date\n');
  },
);

it('check names what a store of 4.0.0 is refused for, and its remedy ends that', async () => {
  await openStoreOf('4.0.0');
  await store.execute('ALTER TABLE plants RENAME TO former');
  await store.execute(`CREATE TABLE plants (${defineColumns(Plant)})`);
  await store.execute(
    'INSERT INTO plants SELECT id, name, tag, created_by, created_at FROM former',
  );
  await store.execute('DROP TABLE former');
  const { code, stderr } = await cli('check');
  expect(code).toBe(1);
  expect(await startHere(store.url)).toMatchObject({ code: 1 });
  const commands = listCommands(stderr);
  expect(commands).toHaveLength(1);
  await store.execute(String(commands));
  expect(await cli('check')).toMatchObject({ code: 0 });
  expect(await startHere(store.url)).toMatchObject({ code: 0 });
  expect(await cli('export')).toMatchObject({ code: 0, stdout: PLANTS });
});

it('check names each remedy once', async () => {
  await openStoreOf('4.0.0');
  const type = ENGINE === 'sqlite' ? 'INT' : 'integer';
  await store.execute('DROP TABLE plants');
  const others = 'name text NOT NULL, tag text, created_by text';
  await store.execute(
    `CREATE TABLE plants (id ${type} PRIMARY KEY, ${others}, created_at ${type})`,
  );
  const { stderr } = await cli('check');
  for (const column of ['id', 'created_at'])
    expect(stderr).toContain(`the column ${column} of plants is of type ${type}, not bigint`);
  const commands = listCommands(stderr);
  expect(commands).not.toEqual([]);
  expect(commands).toEqual([...new Set(commands)]);
});

it('the service takes plants and tokens of 1.0.0 for its own', async () => {
  await openStoreOf('1.0.0');
  const { active, revoked } = readTokens('1.0.0');
  const service = await ServiceProcess.start({ store, token: active });
  const client = service.client();
  expect((await client.create(SAGUARO)).status).toBe(200);
  expect(await client.create({ ...SAGUARO, tag: 'x' })).toMatchObject({ body: { error: 1004 } });
  const headers = { ...client.headers, authorization: `Bearer ${revoked}` };
  expect((await client.post('{"id":4,"name":"oak"}', headers)).status).toBe(401);
  await service.kill();
});

it('restores a backup that 3.0.0 has made, of an older schema by way of a copy', async () => {
  let file = resolve(STORES, '3.0.0-backup.sqlite');
  await cli('migrate');
  if (!isSchemaOf3) {
    expect((await cli(`restore ${file}`)).stderr).toContain('copy it, run');
    const copy = join(store.folder, 'copy.sqlite');
    copyFileSync(file, copy);
    file = join(store.folder, 'new.sqlite');
    expect((await cli('migrate', `sqlite:${copy}`)).code).toBe(0);
    expect((await cli(`backup ${file}`, `sqlite:${copy}`)).code).toBe(0);
  }
  expect((await cli(`backup --verify ${file}`)).code).toBe(0);
  expect((await cli(`restore ${file}`)).code).toBe(0);
  expect((await cli('export')).stdout).toBe(PLANTS);
});
