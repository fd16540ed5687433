/** @engine postgres */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { passed } from '../cli/backups.js';
import { readConfig } from '../../src/config/environment.js';
import { StoreSession } from '../../src/database/store-session.js';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { runHere } from '../support/cli.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };
const TABLES = ['plants', 'tokens', 'backups', 'plant_store_migrations'];
const NOT_OPENED = 'error: DATABASE_URL: the store cannot be opened: ';

let server: PostgresServer;
let store: PostgresStore;
let token: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  // With the rights of docs/operating.md.
  await store.execute(`
    CREATE ROLE owner LOGIN; GRANT ALL ON SCHEMA public TO owner;
    CREATE ROLE plants_service LOGIN; CREATE ROLE plants_backup LOGIN`);
  await run('owner', 'migrate');
  await store.execute(`
    GRANT SELECT, INSERT ON plants TO plants_service;
    GRANT SELECT, UPDATE ON tokens TO plants_service;
    GRANT SELECT ON backups, plant_store_migrations TO plants_service;
    GRANT SELECT ON ALL TABLES IN SCHEMA public TO plants_backup;
    GRANT INSERT, UPDATE ON backups TO plants_backup;
    INSERT INTO plants (id, name) VALUES (1, 'oak')`);
  token = (await run('owner', 'token create nursery')).stdout.trim();
});
afterAll(async () => {
  await store.remove();
  await server.remove();
});

const urlOf = (role: string) => store.url.replace('postgres@', `${role}@`);

function run(role: string, line: string) {
  const env = { DATABASE_URL: urlOf(role), MANAGEMENT_PORT: 'off' };
  return runHere(line.split(' '), { cwd: store.folder, env });
}

/** Has row-level security hide all rows of a table, from its owner too. */
const hide = (table: string) =>
  store.execute(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`);
const show = (table: string) =>
  store.execute(`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY`);

const describeHidden = (table: string, role: string) =>
  `row-level security may hide rows of ${table} from the role ${role}: as a superuser run ` +
  `\`ALTER ROLE ${role} BYPASSRLS\`, or, if no role needs its policies, \`ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY\``;

describe.each(TABLES)('while rows of %s may be hidden', (table) => {
  beforeAll(() => hide(table));
  afterAll(() => show(table));

  it.each([
    ...['backup b.sqlite', 'check', 'export', 'export e.ndjson', 'token list'].map((line) => [
      'plants_backup',
      line,
    ]),
    ...['migrate', 'token create other', 'token rotate nursery', 'token revoke --all'].map(
      (line) => ['owner', line],
    ),
  ])('%s: %s is refused, and says why', async (role = '', line = '') => {
    const stderr = `${NOT_OPENED}${describeHidden(table, role)}\n`;
    expect(await run(role, line)).toEqual({ code: 1, stdout: '', stderr });
    expect(readdirSync(store.folder)).toEqual([]);
  });

  it('status says why', async () => {
    const { code, stdout } = await run('plants_backup', 'status');
    expect(code).toBe(1);
    expect(stdout).toContain(describeHidden(table, 'plants_backup'));
  });

  it('a role that bypasses it works as ever', async () => {
    await store.execute('ALTER ROLE plants_backup BYPASSRLS');
    const { code, stdout } = await run('plants_backup', 'check');
    await store.execute('ALTER ROLE plants_backup NOBYPASSRLS');
    expect({ code, stdout }).toEqual({ code: 0, stdout: passed(1, 1) });
  });
});

describe('a schema', () => {
  it('that a role may not use is not empty', async () => {
    await store.execute('REVOKE ALL ON SCHEMA public FROM PUBLIC');
    const { code, stderr } = await run('plants_backup', 'backup b.sqlite');
    await store.execute('GRANT USAGE ON SCHEMA public TO PUBLIC');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `${NOT_OPENED}the role plants_backup may use no schema of its search_path, "$user", public: run \`GRANT USAGE ON SCHEMA public TO plants_backup\`\n`,
    });
  });

  it('that stands before that of the store is named', async () => {
    await store.execute('CREATE SCHEMA plants_backup AUTHORIZATION plants_backup');
    const { code, stderr } = await run('plants_backup', 'export');
    await store.execute('DROP SCHEMA plants_backup');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `${NOT_OPENED}the store is in the schema public, and the first schema of search_path is plants_backup: run \`ALTER ROLE plants_backup IN DATABASE ${new URL(store.url).pathname.slice(1)} SET search_path = public\`\n`,
    });
  });
});

/** A proxy that, like a pooler, has the setting of a session not reach the server. */
async function startPooler() {
  const pooler = createServer((client) => {
    const upstream = connect(server.port, '127.0.0.1');
    const end = () => [client, upstream].forEach((socket) => socket.destroy());
    client.on('data', (bytes) => {
      const text = bytes
        .toString('latin1')
        .replace('SET row_security = off', 'SET row_security = on ');
      upstream.write(text, 'latin1');
    });
    upstream.on('data', (bytes) => client.write(bytes));
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  pooler.listen(0, '127.0.0.1');
  await once(pooler, 'listening');
  return pooler;
}

it('a snapshot, over a pooler, has all rows: nobody can hide some before its end', async () => {
  const pooler = await startPooler();
  const { port } = pooler.address() as AddressInfo;
  const url = urlOf('plants_backup').replace(String(server.port), String(port));
  const snapshot = await StoreSession.open(readConfig({ DATABASE_URL: url }));
  let isHidden = false;
  const hiding = hide('plants').then(() => (isHidden = true));
  const key = { field: 'id', name: 'id', type: 'bigint' } as const;
  const table = { name: 'plants', key };
  const lines = snapshot.readLines({ table, columns: [key], form: 'array' });
  await lines.next();
  expect(isHidden).toBe(false);
  await snapshot[Symbol.asyncDispose]();
  await hiding;
  await show('plants');
  pooler.close();
});

describe.each(['a session of its own', 'a pooler'])('a service, over %s', (over) => {
  let service: ServiceProcess;
  let pooler: Awaited<ReturnType<typeof startPooler>>;
  beforeAll(async () => {
    pooler = await startPooler();
    const { port } = pooler.address() as AddressInfo;
    const direct = urlOf('plants_service');
    const url = over === 'a pooler' ? direct.replace(String(server.port), String(port)) : direct;
    const env = { DATABASE_URL: url, DATABASE_TIMEOUT: '2s', MANAGEMENT_PORT: '0', MIGRATE: 'off' };
    service = await ServiceProcess.start({ store, token, env });
  });
  afterAll(async () => {
    await service.kill();
    pooler.close();
  });

  it.each(['plants', 'tokens'])(
    'acknowledges nothing while rows of %s may be hidden',
    async (table) => {
      const client = service.client();
      const known = { id: 1n, name: 'oak' };
      expect((await client.create(known)).status).toBe(200);
      await hide(table);
      const { details } = await service.monitor.until(503, 'store');
      const unknown = { ...client.headers, authorization: `Bearer ${createSecret()}` };
      const responses = [
        await client.create(known),
        await client.create({ id: 2n, name: 'oak' }),
        table === 'tokens' && (await client.post('{"id":1,"name":"oak"}', unknown)),
      ];
      await show(table);
      for (const response of responses.filter(Boolean)) expect(response).toMatchObject(UNAVAILABLE);
      expect(details.store?.message).toBe(describeHidden(table, 'plants_service'));
      await service.monitor.until(200);
    },
  );
});
