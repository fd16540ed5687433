import { runCli } from '../../test/support/cli.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Proxy } from '../../test/support/proxy.js';
import { makeChanges, type Change } from '../changes.js';
import type { Scenario } from '../ledger.js';
import { Service } from '../stage.js';
import { storeOf } from './pair.js';

/** The service's role: no superuser, from whom row-level security would hide nothing. */
export const ROLE = 'plants';
export const MAKE_ROLE = `CREATE ROLE ${ROLE} LOGIN; GRANT CREATE ON SCHEMA public TO ${ROLE}`;
/** The key of plants, as the first migration makes it. */
export const KEY = '"PK_7056d6b283b48ee2bb0e53bee60"';
export const TABLES = ['plants', 'tokens', 'backups', 'plant_store_migrations'];

/** What operators do to the table beside load, and what undoes it. Each text is one transaction. */
const CHANGES: readonly (readonly [
  name: string,
  change: string,
  undo: string,
  takesBack?: boolean,
])[] = [
  [
    'row-level security',
    'ALTER TABLE plants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
    'ALTER TABLE plants DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
  ],
  [
    'a policy that hides half of the plants',
    `CREATE POLICY half ON plants USING (id % 2 = 0) WITH CHECK (true);
    ALTER TABLE plants ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`,
    `ALTER TABLE plants DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
    DROP POLICY half ON plants`,
  ],
  ['`SET UNLOGGED`', 'ALTER TABLE plants SET UNLOGGED', 'ALTER TABLE plants SET LOGGED'],
  [
    'the table is renamed',
    'ALTER TABLE plants RENAME TO elsewhere',
    'ALTER TABLE elsewhere RENAME TO plants',
  ],
  [
    'a trigger that returns NULL',
    `CREATE FUNCTION drop_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER drop_row BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION drop_row()`,
    'DROP FUNCTION drop_row CASCADE',
  ],
  [
    'a copy in the place of the table',
    `LOCK TABLE plants IN ACCESS EXCLUSIVE MODE;
    CREATE TABLE copy (LIKE plants INCLUDING ALL);
    ALTER TABLE copy OWNER TO ${ROLE};
    INSERT INTO copy SELECT * FROM plants;
    ALTER TABLE plants RENAME TO elsewhere;
    ALTER TABLE copy RENAME TO plants`,
    'DROP TABLE plants; ALTER TABLE elsewhere RENAME TO plants',
    true,
  ],
  [
    'a second, empty store in a schema that comes first',
    `CREATE SCHEMA AUTHORIZATION ${ROLE};
    SET ROLE ${ROLE};
    ${TABLES.map((name) => `CREATE TABLE ${ROLE}.${name} (LIKE public.${name} INCLUDING ALL)`).join('; ')};
    INSERT INTO ${ROLE}.plant_store_migrations SELECT * FROM public.plant_store_migrations;
    RESET ROLE`,
    `DROP SCHEMA ${ROLE} CASCADE`,
    true,
  ],
  [
    'a table that inherits, with the same rows',
    'CREATE TABLE child () INHERITS (plants); INSERT INTO child SELECT * FROM ONLY plants',
    'DROP TABLE child',
  ],
  [
    'the key is dropped',
    `ALTER TABLE plants DROP CONSTRAINT ${KEY}`,
    `ALTER TABLE plants ADD CONSTRAINT ${KEY} PRIMARY KEY (id)`,
  ],
  [
    'another type',
    'ALTER TABLE plants ALTER name TYPE varchar(20000)',
    'ALTER TABLE plants ALTER name TYPE text',
  ],
  ['`REVOKE`', `REVOKE INSERT ON plants FROM ${ROLE}`, `GRANT INSERT ON plants TO ${ROLE}`],
];

/** Changes the store beside load, and undoes each change. */
export async function changeStore(times: number): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const other = await PostgresServer.start();
  const proxy = await Proxy.start(server.port);
  const operator = storeOf(server);
  await operator.execute(MAKE_ROLE);
  const url = urlOf(proxy);
  const service = await Service.over(new PostgresStore(url, 'postgres'));
  await copyTokens(operator, other);

  const bySql = CHANGES.map(([name, change, undo, takesBack = false]): Change => {
    const make = () => operator.execute(change);
    return { name, make, undo: () => operator.execute(undo), takesBack };
  });
  const fsync: Change = {
    name: '`fsync = off`',
    make: () => set('SET fsync = off'),
    undo: () => set('RESET fsync'),
  };
  const moved: Change = {
    name: 'another server at the address',
    make: () => proxy.pointAt(other.port),
    undo: () => proxy.pointAt(server.port),
  };
  const scenarios = await makeChanges(service, [...bySql, fsync, moved], times);
  await proxy.stop();
  await other.remove();
  await server.remove();
  return scenarios;

  async function set(setting: string): Promise<void> {
    await operator.execute(`ALTER SYSTEM ${setting}`);
    await operator.reload();
  }
}

/** Makes a store on another server with the tokens of the first, so that it would take plants. */
export async function copyTokens(from: PostgresStore, server: PostgresServer): Promise<void> {
  const to = storeOf(server);
  await to.execute(MAKE_ROLE);
  const { code, stderr } = await runCli(['migrate'], {
    cwd: to.folder,
    env: { DATABASE_URL: urlOf(server) },
  });
  if (code !== 0) throw new Error(stderr);
  const sql = 'SELECT json_agg(tokens)::text AS tokens FROM tokens';
  const [row] = await from.rows<{ tokens: string }>(sql);
  await to.execute(`INSERT INTO tokens OVERRIDING SYSTEM VALUE
    SELECT * FROM json_populate_recordset(NULL::tokens, '${row?.tokens}')`);
}

export function urlOf({ port }: { readonly port: number }): string {
  return `postgres://${ROLE}@127.0.0.1:${port}/postgres`;
}
