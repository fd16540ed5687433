/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findProblems } from '../../src/database/postgres/inspection.js';
import { runHere } from '../support/cli.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { Proxy } from '../support/proxy.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let next = 1n;
const acknowledged: bigint[] = [];
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  // The role owns the tables, and row-level security and rights hold for it.
  await store.execute('CREATE ROLE plants LOGIN; GRANT ALL ON SCHEMA public TO plants');
  service = await ServiceProcess.start({ store, env: { ...env(), MANAGEMENT_PORT: '0' } });
});
afterAll(async () => {
  await service.remove();
  await server.remove();
});

const env = () => ({ DATABASE_URL: store.url.replace('postgres@', 'plants@') });

/** Does what the service says until it is ready, as an operator does. */
async function followAdvice(): Promise<void> {
  for (let left = 2_000; left > 0; left--) {
    const { status, details } = await service.monitor.ready();
    if (status === 200) return;
    const remedy = readRemedy(String(details.store?.message));
    // Once it is done, but not yet noticed, it fails.
    await store.execute(remedy).catch(() => store.execute('ROLLBACK'));
    await sleep(20);
  }
  throw new Error(`not ready: ${JSON.stringify(await service.monitor.ready())}`);
}

/** The SQL between backticks of a message, but for those that are alternatives to the first. */
const readRemedy = (message: string) => /`([^`]+)`/.exec(message)?.[1] ?? '';

const RESET_SEARCH_PATH = `
  DO $$ BEGIN EXECUTE format('ALTER ROLE plants IN DATABASE %I RESET search_path', current_database()); END $$`;

const DROP_KEYS = `
  DO $$ DECLARE key regclass; BEGIN
    FOR key IN SELECT indexrelid FROM pg_index WHERE indrelid = 'plants'::regclass AND indisunique LOOP
      EXECUTE 'DROP INDEX ' || key;
    END LOOP;
  END $$`;

/** What is not so, how an operator makes it, the reason, and what undoes it: by default what the message says. */
const STATES: readonly [
  what: string,
  make: string,
  reason: string,
  undo?: string | undefined,
  clear?: string,
][] = [
  [
    'a table that inherits from plants',
    'CREATE TABLE child () INHERITS (plants); CREATE TABLE grandchild () INHERITS (child); INSERT INTO grandchild (id, name) VALUES (1000, $$elm$$)',
    'the rows of child count as rows of plants, which it inherits from: run `BEGIN; INSERT INTO plants (id, name, tag, created_by, created_at) OVERRIDING SYSTEM VALUE SELECT id, name, tag, created_by, created_at FROM child ON CONFLICT DO NOTHING; ALTER TABLE child NO INHERIT plants; COMMIT`, which copies',
    undefined,
    "DO $$ BEGIN DELETE FROM plants WHERE id = 1000; IF NOT FOUND THEN RAISE 'its row was not taken over'; END IF; END $$; DROP TABLE child CASCADE",
  ],
  [
    'a view in the place of plants',
    'ALTER TABLE plants RENAME TO base; CREATE VIEW plants AS SELECT * FROM base',
    'plants is no ordinary table, but a view: if base, which has its columns, is the former one, run `BEGIN; DROP VIEW plants; ALTER TABLE base RENAME TO plants; COMMIT`',
  ],
  [
    'an unlogged table',
    'ALTER TABLE plants SET UNLOGGED',
    'the table plants is unlogged, so that a crash would empty it: run `ALTER TABLE plants SET LOGGED`',
  ],
  [
    'an unlogged table of tokens',
    'ALTER TABLE tokens SET UNLOGGED',
    'the table tokens is unlogged, so that a crash would empty it: run `ALTER TABLE tokens SET LOGGED`',
  ],
  [
    'a lost key',
    'ALTER TABLE plants DROP CONSTRAINT "PK_7056d6b283b48ee2bb0e53bee60"',
    'no valid unique index of plants has its key, id, alone, so that an id could be stored twice: run `CREATE UNIQUE INDEX ON plants (id)`',
  ],
  [
    'a deferrable key',
    `${DROP_KEYS}; ALTER TABLE plants ADD UNIQUE (id) DEFERRABLE`,
    'the key of plants is deferrable, so that no repeat could be told from it: run `ALTER TABLE plants DROP CONSTRAINT plants_id_key`',
  ],
  [
    'a key of some rows alone',
    `${DROP_KEYS}; CREATE UNIQUE INDEX ON plants (id) WHERE id > 0`,
    'no valid unique index of plants has its key, id, alone',
    'CREATE UNIQUE INDEX ON plants (id)',
  ],
  [
    'another type',
    'ALTER TABLE plants ALTER name TYPE varchar(20)',
    'the column name of plants is of type character varying(20), not text, so that a value could be changed or refused: ' +
      'run `ALTER TABLE plants ALTER name TYPE text`',
  ],
  [
    'another type of the key of tokens',
    'ALTER TABLE tokens ALTER id TYPE bigint',
    'the column id of tokens is of type bigint, not integer',
  ],
  [
    'a further column that must have a value',
    "ALTER TABLE plants ADD soil_of_a_test text NOT NULL DEFAULT ''; ALTER TABLE plants ALTER soil_of_a_test DROP DEFAULT",
    'the column soil_of_a_test of plants must have a value, which this version does not write: run `ALTER TABLE plants ALTER soil_of_a_test DROP NOT NULL`',
    undefined,
    'ALTER TABLE plants DROP soil_of_a_test',
  ],
  [
    'a further column of a domain that is not null',
    "CREATE DOMAIN given AS text NOT NULL; ALTER TABLE plants ADD light_of_a_test given DEFAULT ''; ALTER TABLE plants ALTER light_of_a_test DROP DEFAULT",
    'the domain given of the column light_of_a_test of plants is NOT NULL, and this version writes no value there: run `ALTER TABLE plants ALTER light_of_a_test TYPE text`',
    undefined,
    'ALTER TABLE plants DROP light_of_a_test; DROP DOMAIN given',
  ],
  [
    'a column of ours that must have a value',
    'ALTER TABLE plants ALTER created_by SET NOT NULL',
    'the column created_by of plants must have a value',
  ],
  [
    'a renamed column',
    'ALTER TABLE plants RENAME tag TO label_of_a_test',
    'the column tag of plants is missing: if it was renamed, rename it back; else run `ALTER TABLE plants ADD tag text`, which keeps every row without its value, or ',
    'ALTER TABLE plants RENAME label_of_a_test TO tag',
  ],
  [
    'a dropped column',
    'ALTER TABLE plants DROP created_at',
    'the column created_at of plants is missing: if it was renamed',
  ],
  [
    'a renamed table of backups',
    'ALTER TABLE backups RENAME TO former',
    'the table backups is missing: if former, which has its columns, is the former one, run `BEGIN; ALTER TABLE former RENAME TO backups; COMMIT`, or restore a backup',
  ],
  [
    'a missing migration',
    "DELETE FROM plant_store_migrations WHERE name LIKE 'CreateBackups%'",
    'the migration CreateBackups1795600000000 is missing: its tables are there: put its row back by `INSERT INTO ',
  ],
  [
    'an identity that is always generated',
    'ALTER TABLE plants ALTER id ADD GENERATED ALWAYS AS IDENTITY',
    'the column id of plants is GENERATED ALWAYS AS IDENTITY: run `ALTER TABLE plants ALTER id DROP IDENTITY`',
  ],
  [
    'a generated column',
    'ALTER TABLE plants RENAME tag TO label_of_a_test; ALTER TABLE plants ADD tag text GENERATED ALWAYS AS (label_of_a_test) STORED',
    'the column tag of plants is generated: run `ALTER TABLE plants ALTER tag DROP EXPRESSION`',
    undefined,
    'UPDATE plants SET tag = NULL; ALTER TABLE plants DROP label_of_a_test',
  ],
  [
    'a type that no cast leads back from',
    "ALTER TABLE plants ALTER name TYPE bytea USING convert_to(name, 'UTF8')",
    'the column name of plants is of type bytea, not text, so that a value could be changed or refused: put a column of that type',
    "ALTER TABLE plants ALTER name TYPE text USING convert_from(name, 'UTF8')",
  ],
  [
    'a key of tokens without its sequence',
    'ALTER TABLE tokens ALTER id DROP DEFAULT',
    'the column id of tokens has no default, which is to number the rows: put its default and its sequence back',
    "ALTER TABLE tokens ALTER id SET DEFAULT nextval('tokens_id_seq')",
  ],
  [
    'a renamed key of tokens',
    'ALTER TABLE tokens RENAME id TO number',
    'the column id of tokens is missing: if it was renamed, rename it back; else restore a backup',
    'ALTER TABLE tokens RENAME number TO id',
  ],
  [
    'a sequence behind its rows',
    "SELECT setval('tokens_id_seq', 1, false)",
    'the sequence of tokens.id is behind its rows, as after logical replication: run `SELECT setval(',
  ],
  [
    'hidden rows',
    'ALTER TABLE backups ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
    'row-level security may hide rows of backups from the role plants: as a superuser run `ALTER ROLE plants BYPASSRLS`',
    undefined,
    'ALTER ROLE plants NOBYPASSRLS; ALTER TABLE backups DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
  ],
  [
    'lacking rights',
    'REVOKE ALL ON tokens FROM plants',
    'the role plants lacks SELECT, UPDATE on columns of tokens: run `GRANT SELECT, UPDATE ON tokens TO plants`',
    undefined,
    'GRANT ALL ON tokens TO plants',
  ],
  [
    'a lacking right',
    'REVOKE INSERT ON plants FROM plants; GRANT INSERT (id) ON plants TO plants',
    'the role plants lacks INSERT on columns of plants: run `GRANT INSERT ON plants TO plants`',
  ],
  [
    'another table in the place of plants',
    'ALTER TABLE plants RENAME TO former; CREATE TABLE plants (LIKE former INCLUDING ALL); ALTER TABLE plants OWNER TO plants',
    'the table plants was replaced, detached or dropped while the service runs: put the former one back by `BEGIN; ALTER TABLE plants RENAME TO plants_unused; ALTER TABLE former RENAME TO plants; COMMIT`, and insert what only that has by `INSERT INTO plants SELECT * FROM plants_unused ON CONFLICT DO NOTHING`; only to go on',
    undefined,
    'DROP TABLE plants_unused',
  ],
  [
    'another table in the place of plants, which is in another schema',
    'CREATE SCHEMA app; CREATE TABLE copy (LIKE plants INCLUDING ALL); ALTER TABLE plants SET SCHEMA app; ALTER TABLE copy OWNER TO plants; ALTER TABLE copy RENAME TO plants',
    'the table plants was replaced, detached or dropped while the service runs: put the former one back by `BEGIN; ALTER TABLE plants RENAME TO plants_unused; ALTER TABLE app.plants SET SCHEMA public; COMMIT`, and',
    undefined,
    'DROP TABLE plants_unused; DROP SCHEMA app',
  ],
  [
    'a dropped column of tokens, without which a revoked one would be active',
    'ALTER TABLE tokens RENAME revoked_at TO ended_of_a_test',
    'the column revoked_at of tokens is missing: if it was renamed, rename it back; else restore a backup',
    'ALTER TABLE tokens RENAME ended_of_a_test TO revoked_at',
  ],
  [
    'a schema that comes first',
    'CREATE SCHEMA AUTHORIZATION plants',
    'the store is in the schema public, and the first schema of search_path is plants: run `ALTER ROLE plants IN DATABASE ',
    undefined,
    `DROP SCHEMA plants; ${RESET_SEARCH_PATH}`,
  ],
  [
    'a search_path that names no schema',
    "DO $$ BEGIN EXECUTE format('ALTER ROLE plants IN DATABASE %I SET search_path = %L', current_database(), 'app, public'); END $$;" +
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plants'",
    'the role plants may use no schema of its search_path, "app, public": run `ALTER ROLE plants IN DATABASE ',
    undefined,
    RESET_SEARCH_PATH,
  ],
  [
    'a second store',
    `CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO plants; CREATE TABLE app.plants (LIKE plants);
     CREATE TABLE app.plant_store_migrations (LIKE plant_store_migrations)`,
    'there are stores in the schemas app and public: compare the rows of their tables plants',
    undefined,
    'DROP SCHEMA app CASCADE',
  ],
  [
    'plants away, and a copy of the store in another schema',
    `CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO plants; CREATE TABLE app.plants (LIKE plants);
     CREATE TABLE app.plant_store_migrations (LIKE plant_store_migrations); ALTER TABLE plants RENAME TO former`,
    'the table plants is missing: if former, which has its columns, is the former one, run `BEGIN; ALTER TABLE former RENAME TO plants; COMMIT`',
    'ALTER TABLE former RENAME TO plants; DROP SCHEMA app CASCADE',
  ],
];

it.each(STATES)('%s: 503, not ready, and served again once it is undone', async (...state) => {
  const [, make, reason, undo, clear] = state;
  const client = service.client();
  const known = { id: next++, name: 'oak' };
  const fresh = { id: next++, name: 'oak' };
  expect((await client.create(known)).status).toBe(200);
  await store.execute(make);
  const message = await service.monitor.untilProblem(reason);
  for (const plant of [known, fresh, { ...known, name: 'elm' }])
    expect(await client.create(plant)).toMatchObject(UNAVAILABLE);
  expect(service.output).toContain(`the store is unavailable: ${message}`);
  if (undo !== undefined) await store.execute(undo);
  await followAdvice();
  for (const plant of [known, fresh]) expect((await client.create(plant)).status).toBe(200);
  acknowledged.push(known.id, fresh.id);
  expect(await client.create({ ...known, name: 'elm' })).toMatchObject({ body: { error: 1004 } });
  if (clear !== undefined) await store.execute(clear);
  expect((await store.plants()).map(({ id }) => id)).toEqual(acknowledged);
});

it('what a store may have beside its own is no problem', async () => {
  await store.execute(`
    ALTER TABLE plants ADD soil_of_a_test text, ADD height_of_a_test int NOT NULL DEFAULT 1,
      ADD grown_of_a_test boolean GENERATED ALWAYS AS (id > 0) STORED;
    CREATE DOMAIN shade AS text NOT NULL DEFAULT 'half'; ALTER TABLE plants ADD shade_of_a_test shade;
    ALTER TABLE plants ADD CHECK (id <> -13), ALTER tag TYPE text COLLATE "C";
    CREATE INDEX ON plants (name); CREATE UNIQUE INDEX ON plants (id, name);
    CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO plants; CREATE TABLE elsewhere.plants (LIKE plants);
    CREATE TABLE elsewhere.tokens (id uuid); CREATE VIEW seen AS SELECT * FROM plants;
    ALTER SEQUENCE tokens_id_seq RESTART WITH 1000; ALTER ROLE plants SET quote_all_identifiers = on`);
  await store.execute('VACUUM FULL plants');
  await store.execute(`REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC;
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'plants'`);
  const client = service.client();
  // Its sessions were ended.
  while ((await client.create({ id: next++, name: 'oak' })).status !== 200);
  const until = performance.now() + 2_500;
  while (performance.now() < until) {
    expect(await service.monitor.ready()).toMatchObject({ status: 200 });
    expect((await client.create({ id: next++, name: 'oak' })).status).toBe(200);
  }
  await store.execute(`
    GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC; ALTER ROLE plants RESET quote_all_identifiers;
    DROP VIEW seen; DROP SCHEMA elsewhere CASCADE;
    ALTER TABLE plants DROP soil_of_a_test, DROP height_of_a_test, DROP grown_of_a_test, DROP shade_of_a_test`);
});

it('a start warns of the triggers that an insert fires, whenever: each may change or drop a plant', async () => {
  const own = await PostgresStore.create(server.url());
  expect(await startHere(own.url)).toMatchObject({ code: 0 });
  const trigger = (name: string, when: string, each = 'ROW') =>
    `CREATE TRIGGER ${name} ${when} ON plants FOR EACH ${each} EXECUTE FUNCTION f();`;
  await own.execute(`
    CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    ${trigger('t_before', 'BEFORE INSERT')} ${trigger('t_after', 'AFTER INSERT OR DELETE')}
    ${trigger('t_statement', 'AFTER INSERT', 'STATEMENT')} ${trigger('t_update', 'BEFORE UPDATE')}
    ${trigger('t_off', 'AFTER INSERT')} ALTER TABLE plants DISABLE TRIGGER t_off`);
  const { stdout } = await startHere(own.url);
  const warned = stdout.matchAll(/the trigger (\w+) of plants can change or drop a plant/g);
  expect([...warned].map(([, name]) => name).toSorted()).toEqual([
    't_after',
    't_before',
    't_statement',
  ]);
  await own.remove();
});

it('a start is refused for what it finds, in the same words, and makes no second store', async () => {
  await store.execute('CREATE SCHEMA AUTHORIZATION plants');
  const refusal =
    'DATABASE_URL: the store cannot be opened: the store is in the schema public, and the first schema of search_path is plants: ';
  const failed = { code: 1, stderr: expect.stringContaining(refusal) };
  expect(await startHere(env().DATABASE_URL)).toMatchObject(failed);
  for (const line of [
    'migrate',
    'token create other',
    'token list',
    'export',
    'check',
    'backup b.sqlite',
  ])
    expect(await runHere(line.split(' '), { cwd: store.folder, env: env() })).toMatchObject(failed);
  expect(await store.rows("SELECT FROM pg_tables WHERE schemaname = 'plants'")).toEqual([]);
  await store.execute('DROP SCHEMA plants');
});

it('a start that lacks a column says so, and not that there is no store', async () => {
  const own = await PostgresStore.create(server.url());
  expect(await startHere(own.url)).toMatchObject({ code: 0 });
  await own.execute('ALTER TABLE plants DROP created_at');
  const reason = 'the store cannot be opened: the column created_at of plants is missing: ';
  expect(await startHere(own.url)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(reason),
  });
  await own.remove();
});

it('a schema that the role may not use, but search_path names, has a store: none is made', async () => {
  const own = await PostgresStore.create(server.url());
  await own.execute(`
    CREATE SCHEMA app; GRANT ALL ON SCHEMA app, public TO plants;
    DO $$ BEGIN EXECUTE format('ALTER ROLE plants IN DATABASE %I SET search_path = app, public', current_database()); END $$`);
  const url = own.url.replace('postgres@', 'plants@');
  const run = (line: string) =>
    runHere(line.split(' '), { cwd: own.folder, env: { DATABASE_URL: url } });
  expect((await run('migrate')).code).toBe(0);
  await own.execute('REVOKE ALL ON SCHEMA app FROM plants');
  const failed = {
    code: 1,
    stderr: expect.stringContaining(
      'the role plants may not use the schema app, which has a store: run `GRANT USAGE ON SCHEMA app TO plants`',
    ),
  };
  for (const line of ['migrate', 'token list', 'check'])
    expect(await run(line)).toMatchObject(failed);
  expect(await startHere(url)).toMatchObject(failed);
  expect(await own.rows("SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  await own.remove();
});

it('the inspection is no statement that PostgreSQL would compile', async () => {
  const sql = findProblems(true, { tables: 4, columns: 7 })
    .replaceAll('$1', "'[]'")
    .replaceAll(/\$[234]/g, 'true');
  const [plan] = await store.rows<Record<string, string>>(`EXPLAIN ${sql}`);
  const cost = Number(/\.\.([\d.]+) /.exec(plan?.['QUERY PLAN'] ?? '')?.[1]);
  // jit_above_cost is 100,000.
  expect(cost).toBeLessThan(10_000);
});

describe('a partitioned table of plants', () => {
  it('may have ordinary, permanent partitions alone', async () => {
    const own = await PostgresStore.create(server.url());
    const migrate = () => runHere(['migrate'], { cwd: own.folder, env: { DATABASE_URL: own.url } });
    expect((await migrate()).code).toBe(0);
    await own.execute(`
      ALTER TABLE plants RENAME TO former;
      CREATE TABLE plants (LIKE former INCLUDING DEFAULTS, PRIMARY KEY (id)) PARTITION BY RANGE (id);
      CREATE TABLE half PARTITION OF plants FOR VALUES FROM (0) TO (MAXVALUE);
      DROP TABLE former`);
    const started = await ServiceProcess.start({ store: own, env: { MANAGEMENT_PORT: '0' } });
    const client = started.client();
    expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(200);
    // An id for which there is none, as after a partition was detached: what is sent later is stored once it is back.
    expect(await client.create({ id: -1n, name: 'oak' })).toMatchObject(UNAVAILABLE);
    // The log comes through a pipe of its own.
    while (!started.output.includes('found for row: attach a partition for its id (`'))
      await sleep(5);
    await own.execute('CREATE UNLOGGED TABLE rest PARTITION OF plants DEFAULT');
    const { details } = await started.monitor.until(503, 'store');
    expect(details.store?.message).toBe(
      'the table rest is unlogged, so that a crash would empty it: run `ALTER TABLE rest SET LOGGED`',
    );
    expect(await client.create({ id: -1n, name: 'oak' })).toMatchObject(UNAVAILABLE);
    await own.execute(readRemedy(String(details.store?.message)));
    await started.monitor.until(200);
    // No lock on a partition keeps an inspection waiting.
    await own.execute('BEGIN; LOCK TABLE rest IN ACCESS EXCLUSIVE MODE');
    expect((await client.create({ id: 2n, name: 'oak' })).status).toBe(200);
    // A partition that is renamed, or in another schema, is still there.
    await own.execute('COMMIT; CREATE SCHEMA parts; ALTER TABLE half SET SCHEMA parts');
    await own.execute('ALTER TABLE parts.half RENAME TO later');
    const until = performance.now() + 2_500;
    while (performance.now() < until) {
      expect(await started.monitor.ready()).toMatchObject({ status: 200 });
      expect((await client.create({ id: 2n, name: 'oak' })).status).toBe(200);
    }
    await own.execute(
      'ALTER TABLE parts.later SET SCHEMA public; ALTER TABLE later RENAME TO half',
    );
    // Attached to an index that is not deferrable, it keeps its own constraint.
    await own.execute(`
      ALTER TABLE plants DETACH PARTITION half; ALTER TABLE half DROP CONSTRAINT half_pkey;
      ALTER TABLE half ADD PRIMARY KEY (id) DEFERRABLE;
      ALTER TABLE plants ATTACH PARTITION half FOR VALUES FROM (0) TO (MAXVALUE)`);
    const { details: deferrable } = await started.monitor.until(503, 'store');
    expect(deferrable.store?.message).toContain('the key of the partition half of plants is defer');
    expect(await client.create({ id: 3n, name: 'oak' })).toMatchObject(UNAVAILABLE);
    await own.execute(readRemedy(String(deferrable.store?.message)));
    await started.monitor.until(200);
    expect((await client.create({ id: 3n, name: 'oak' })).status).toBe(200);
    await own.execute(`
      ALTER TABLE plants DETACH PARTITION half; ALTER TABLE plants DETACH PARTITION rest;
      ALTER TABLE plants ATTACH PARTITION rest FOR VALUES FROM (MINVALUE) TO (0)`);
    expect(await client.create({ id: 4n, name: 'oak' })).toMatchObject(UNAVAILABLE);
    // The other partition is there, but the first failure has had the store inspected.
    expect(await client.create({ id: -2n, name: 'oak' })).toMatchObject(UNAVAILABLE);
    const { details: away } = await started.monitor.until(503, 'store');
    expect(away.store?.message).toContain(
      'the table half was replaced, detached or dropped while the service runs: attach it again by `ALTER TABLE plants ATTACH PARTITION half FOR VALUES …`, with its former bounds (`\\d+ plants` shows those of the others); ',
    );
    await own.execute(`
      ALTER TABLE plants DETACH PARTITION rest; ALTER TABLE plants ATTACH PARTITION rest DEFAULT;
      ALTER TABLE plants ATTACH PARTITION half FOR VALUES FROM (0) TO (MAXVALUE)`);
    await started.monitor.until(200);
    expect((await client.create({ id: -1n, name: 'oak' })).status).toBe(200);
    await started.remove();
  });
});

it('another server at the address: 503, until it is led back', async () => {
  const other = await PostgresServer.start();
  // Both are new: the OID of the database and of its tables may be the same.
  const [first, second] = [
    new PostgresStore(server.url('postgres'), 'postgres'),
    new PostgresStore(other.url(), 'postgres'),
  ];
  for (const each of [first, second])
    await runHere(['migrate'], { cwd: store.folder, env: { DATABASE_URL: each.url } });
  const proxy = await Proxy.start(server.port);
  const url = first.url.replace(String(server.port), String(proxy.port));
  const moved = Object.create(first, { url: { value: url } }) as PostgresStore;
  const started = await ServiceProcess.start({ store: moved, env: { MANAGEMENT_PORT: '0' } });
  expect((await started.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  const [token] = await first.rows<Record<string, unknown>>(
    'SELECT name, hash, created_at FROM tokens',
  );
  await second.execute(
    `INSERT INTO tokens (name, hash, created_at) VALUES ('${String(token?.name)}', '${String(token?.hash)}', ${String(token?.created_at)})`,
  );
  proxy.pointAt(other.port);
  await started.monitor.untilProblem('DATABASE_URL leads to another server');
  expect(await started.client().create({ id: 1n, name: 'elm' })).toMatchObject(UNAVAILABLE);
  proxy.pointAt(server.port);
  await started.monitor.until(200);
  expect((await started.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  await started.kill();
  await proxy.stop();
  await other.remove();
});

it('another database with the name of the store: 503, until the former one has it again', async () => {
  const own = await PostgresStore.create(server.url());
  const name = new URL(own.url).pathname.slice(1);
  const started = await ServiceProcess.start({ store: own, env: { MANAGEMENT_PORT: '0' } });
  const client = started.client();
  expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(200);
  const keepServiceAway = async () => {
    await store.execute(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await store.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
  };
  await keepServiceAway();
  await store.execute(`CREATE DATABASE copy TEMPLATE ${name}`);
  await store.execute(`ALTER DATABASE ${name} RENAME TO former`);
  await store.execute(`ALTER DATABASE copy RENAME TO ${name}`);
  await started.monitor.untilProblem(
    'another database has taken the name of the store: give it back to the former database, without a restart of the service',
  );
  expect(await client.create({ id: 2n, name: 'elm' })).toMatchObject(UNAVAILABLE);
  await keepServiceAway();
  await store.execute(`ALTER DATABASE ${name} RENAME TO copy`);
  await store.execute(`ALTER DATABASE former RENAME TO ${name}`);
  await store.execute(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  await started.monitor.until(200);
  expect((await client.create({ id: 2n, name: 'oak' })).status).toBe(200);
  expect((await own.plants()).map(({ id }) => id)).toEqual([1n, 2n]);
  await started.remove();
});
