/** @engine postgres */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Client as Postgres } from 'pg';
import { Repository } from 'typeorm';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { runCli } from '../support/cli.js';
import { Monitor, valueOf } from '../support/monitor.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { runMain, ServiceProcess, spawnMain } from '../support/service-process.js';
import { Service } from '../support/service.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };

/** Less than the usual DATABASE_TIMEOUT. */
const LATE_MS = 4_500;

/** Ends the connections of the service. */
const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plants'`;

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let url: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  // A superuser would bypass the limits.
  await operate('CREATE ROLE plants LOGIN', 'GRANT ALL ON SCHEMA public TO plants');
  url = store.url.replace('postgres@', 'plants@');
  // An outage ends after half this time without a failure.
  const env = { DATABASE_URL: url, DATABASE_TIMEOUT: '2s', MANAGEMENT_PORT: '0' };
  service = await ServiceProcess.start({ store, env });
});
afterAll(async () => {
  await service.remove();
  await server.remove();
});

let next = 1n;
const plant = () => ({ id: next++, name: 'oak' });

/** Runs statements on the server one by one, as an operator would. */
async function operate(...statements: string[]): Promise<void> {
  const client = new Postgres({ connectionString: store.url });
  await client.connect();
  // The operator's statements do not wait for a standby.
  for (const sql of ['SET synchronous_commit = local', ...statements]) await client.query(sql);
  await client.end();
}

/** Sends a plant until it is stored, as a client does. The service is not restarted. */
async function untilStored(one = plant()): Promise<void> {
  const client = service.client();
  while ((await client.create(one)).status !== 200) await sleep(50);
  expect(await store.plant(one.id)).toEqual({ ...one, tag: null });
}

/** Waits until the log says that the latest outage is over. */
async function untilNoOutage(): Promise<void> {
  const isOver = () =>
    service.output.lastIndexOf('the store is available again') >=
    service.output.lastIndexOf('the store is unavailable');
  while (!isOver()) await sleep(20);
}

/** Sends a plant. Checks that the response takes little longer than DATABASE_TIMEOUT. */
async function expectAway(one = plant()): Promise<void> {
  const client = service.client();
  const response = client.create(one);
  const late = sleep(LATE_MS, 'late', { ref: false });
  expect(await Promise.race([response, late])).toMatchObject(UNAVAILABLE);
  expect((await response).headers['retry-after']).toMatch(/^[1-9]\d*$/);
}

/** Checks that the service is alive, but not ready, even without requests. */
async function expectNotReady(reason: RegExp): Promise<void> {
  const { details } = await service.monitor.until(503, 'store');
  expect(details.store).toEqual({ status: 'down', message: expect.stringMatching(reason) });
  expect(await service.monitor.live()).toBe(200);
  expect(valueOf(await service.monitor.metrics(), 'plant_store_store_up')).toBe(0);
}

describe('a server that', () => {
  afterEach(async () => {
    await untilStored();
    await service.monitor.until(200);
    await untilNoOutage();
  });

  it('is killed: not ready, and 503, until it is back', async () => {
    await server.kill();
    await expectNotReady(/./);
    await expectAway();
    await server.start();
  });

  it('freezes: not ready, and 503 within DATABASE_TIMEOUT, for an unknown token too', async () => {
    server.pause();
    await expectNotReady(/^the store took too long$/);
    const headers = { ...service.client().headers, authorization: `Bearer ${service.token}` };
    await expectAway();
    // The cached token has expired, so the service has to look it up.
    await sleep(4_000);
    const asked = Date.now();
    const response = await service.client().post('{"id":1,"name":"oak"}', headers);
    server.resume();
    expect(response).toMatchObject(UNAVAILABLE);
    expect(Date.now() - asked).toBeLessThan(LATE_MS);
  });

  it('is read-only, as after a failover: not ready, and 503', async () => {
    await operate('ALTER SYSTEM SET default_transaction_read_only = on');
    await store.reload();
    await expectNotReady(/read-only/);
    await expectAway();
    await operate(
      'SET default_transaction_read_only = off',
      'ALTER SYSTEM RESET default_transaction_read_only',
      'SELECT pg_reload_conf()',
    );
  });

  it('waits for a standby that is not there: not ready', async () => {
    await operate("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await store.reload();
    await expectNotReady(/too long|timeout/);
    await operate('ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()');
  });

  it.each(['plants', 'tokens'])('lacks the table %s: 503', async (table) => {
    const { headers } = service.client();
    // An unknown token has to be looked up.
    const unknown = { ...headers, authorization: `Bearer ${createSecret()}` };
    const sent = table === 'tokens' ? unknown : headers;
    await operate(`ALTER TABLE ${table} RENAME TO elsewhere`);
    const response = await service.client().post('{"id":1,"name":"oak"}', sent);
    await operate(`ALTER TABLE elsewhere RENAME TO ${table}`);
    expect(response).toMatchObject(UNAVAILABLE);
  });

  it('has no connections left (53300): 503', async () => {
    await operate('ALTER ROLE plants CONNECTION LIMIT 0', TERMINATE);
    await expectAway();
    await operate('ALTER ROLE plants CONNECTION LIMIT -1');
  });

  it('refuses our login (28): 503', async () => {
    await operate('ALTER ROLE plants NOLOGIN', TERMINATE);
    await expectAway();
    await operate('ALTER ROLE plants LOGIN');
  });

  it('stops a statement that takes too long: 503', async () => {
    await operate("ALTER SYSTEM SET statement_timeout = '300ms'");
    await store.reload();
    const unlock = await store.lock();
    await expectAway();
    await unlock();
    await operate('ALTER SYSTEM RESET statement_timeout', 'SELECT pg_reload_conf()');
  });

  it('ends a statement that waits in a circle (40P01): 503', async () => {
    await operate("ALTER SYSTEM SET deadlock_timeout = '400ms'");
    await store.reload();
    const one = plant();
    await untilStored(one);
    // Its own check comes too late, so that it is the service whose statement fails.
    await store.execute(
      `SET deadlock_timeout = '1h'; BEGIN; DELETE FROM plants WHERE id = ${one.id}`,
    );
    const response = service.client().create(one);
    while (
      (await store.rows("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"))
        .length === 0
    );
    await store.execute('LOCK TABLE plants IN ACCESS EXCLUSIVE MODE');
    expect(await response).toMatchObject(UNAVAILABLE);
    await store.execute('ROLLBACK; RESET deadlock_timeout');
    await operate('ALTER SYSTEM RESET deadlock_timeout', 'SELECT pg_reload_conf()');
  });

  it('fails for some plants: the others are stored, the service stays ready, one outage in the log', async () => {
    await store.execute(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'a worker is down' USING ERRCODE = '08006'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.name = 'elm')
        EXECUTE FUNCTION fail()`);
    const lines = (what: string) => service.output.split(`the store is ${what}`).length;
    const before = [lines('unavailable'), lines('available again')];
    const client = service.client();
    for (let i = 0; i < 40; i++) {
      expect((await client.create({ ...plant(), name: 'elm' })).status).toBe(503);
      expect((await client.create(plant())).status).toBe(200);
      expect((await service.monitor.ready()).status).toBe(200);
    }
    await store.execute('DROP TRIGGER fail ON plants');
    // The log comes through a pipe of its own.
    while (lines('available again') === before[1]) await sleep(5);
    const after = [lines('unavailable'), lines('available again')];
    expect(after).toEqual(before.map((count) => count + 1));
  });
});

@Controller('count')
class CountController {
  constructor(@InjectRepository(Plant) private readonly plants: Repository<Plant>) {}

  @Get()
  async count() {
    return { plants: await this.plants.count() };
  }
}

@Module({ imports: [TypeOrmModule.forFeature([Plant])], controllers: [CountController] })
class CountModule {}

it('a handler that reads by @InjectRepository() gets 503 while the server is gone', async () => {
  const reading = await Service.start({ DATABASE_URL: store.url }, [CountModule]);
  const count = async () => {
    const response = await fetch(`http://127.0.0.1:${reading.port}/count`);
    return { status: response.status, body: await response.json() };
  };
  expect(await count()).toEqual({ status: 200, body: { plants: await store.count() } });
  await server.kill();
  // The second one finds no connection at all.
  for (let i = 0; i < 2; i++) expect(await count()).toEqual(UNAVAILABLE);
  expect(reading.log.text).toContain('ERROR: [Store] the store is unavailable: ');
  await server.start();
  while ((await count()).status !== 200);
  await reading.stop();
});

describe('a commit that is not on the synchronous standby', () => {
  const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

  it('gets no 200, even if the server reports success; nor does its repeat', async () => {
    await operate("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await store.reload();
    const one = plant();
    const response = service.client().create(one);
    while ((await store.rows(WAITING)).length === 0) await sleep(20);
    await operate(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) AS waiting`);
    expect(await response).toMatchObject(UNAVAILABLE);
    // The plant is stored here, but would be lost with this server.
    expect(await store.plant(one.id)).toBeDefined();
    await expectAway(one);
    await operate('ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()');
    await untilStored(one);
  });
});

describe('a start', () => {
  it('waits for an unavailable server, logs it, and is alive, but not ready', async () => {
    await server.kill();
    const env = { DATABASE_URL: url, LOG_LEVEL: 'info', MANAGEMENT_PORT: '0' };
    const child = spawnMain(store, env);
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { port } = new URL(url);
    expect((await lines.next()).value).toContain(`store: PostgreSQL 127.0.0.1:${port}`);
    const monitor = Monitor.of({ printed: (await lines.next()).value as string });
    for (const attempt of [1, 2])
      expect((await lines.next()).value).toContain(
        'Unable to connect to the database. Message: DATABASE_URL: the store cannot be opened: ' +
          `connect ECONNREFUSED 127.0.0.1:${port}. Retrying (${attempt})...`,
      );
    expect(await monitor.live()).toBe(200);
    expect(await monitor.ready()).toMatchObject({
      status: 503,
      failed: ['lifecycle', 'store'],
      details: { lifecycle: { phase: 'starting' }, store: { message: 'not open yet' } },
    });
    expect(valueOf(await monitor.metrics(), 'plant_store_store_up')).toBe(0);
    await server.start();
    await monitor.until(200);
    for (let line = ''; !line.includes('Plant store: ');)
      line = (await lines.next()).value as string;
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('waits for a read-only server', async () => {
    const empty = await PostgresStore.create(server.url());
    const alter = (change: string) =>
      empty.execute(
        `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$`,
      );
    await alter('SET default_transaction_read_only = on');
    const child = spawnMain(empty, { LOG_LEVEL: 'info' });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    await lines.next();
    const { value } = (await lines.next()) as { value: string };
    expect(value).toMatch(/cannot be opened: the server is read-only, .*\. Retrying \(1\)\.\.\.$/);
    await alter('RESET default_transaction_read_only');
    for (let line = ''; !line.includes('Plant store: ');)
      line = (await lines.next()).value as string;
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    await empty.remove();
  });

  it('migrates over one connection, as a pooler may have only one', async () => {
    const empty = await PostgresStore.create(server.url());
    await operate('ALTER ROLE plants CONNECTION LIMIT 1');
    await empty.execute('GRANT ALL ON SCHEMA public TO plants');
    await service.kill();
    const env = { DATABASE_URL: empty.url.replace('postgres@', 'plants@') };
    const { code, stdout } = await runCli(['migrate'], { cwd: empty.folder, env });
    await operate('ALTER ROLE plants CONNECTION LIMIT -1');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ran /) });
    await empty.remove();
  });

  it('fails if the login is wrong, and does not show the password', async () => {
    const wrong = url.replace('plants@', 'nobody:SECRET@');
    const { code, stderr } = await runMain(store, { DATABASE_URL: wrong });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: DATABASE_URL: the store cannot be opened: role "nobody" does not exist\n',
    );
    // The environment has no USER.
    const env = { DATABASE_URL: url.replace('plants@', '') };
    const none = await runCli(['migrate'], { cwd: store.folder, env });
    expect(none).toMatchObject({
      code: 1,
      stderr:
        'error: DATABASE_URL: the store cannot be opened: no PostgreSQL user name specified: ' +
        'set PGUSER, or DATABASE_URL to postgres://USER@HOST/DATABASE\n',
    });
  });
});
