import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';
import { Scenario } from '../ledger.js';
import { Service, Stage } from '../stage.js';
import { storeOf } from './pair.js';

/** Milliseconds of a change. */
const CHANGED_MS = 500;
/** The service's role: no superuser, from whom row-level security would hide nothing. */
const ROLE = 'plants';

/** What operators do to the table beside load, and what undoes it. */
const CHANGES: readonly (readonly [name: string, change: string, undo: string])[] = [
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
  ],
  ['`REVOKE`', `REVOKE INSERT ON plants FROM ${ROLE}`, `GRANT INSERT ON plants TO ${ROLE}`],
];

/** Changes the table of plants beside load, and undoes each change. */
export async function changeTable(times: number): Promise<Scenario[]> {
  const server = await PostgresServer.start();
  const operator = storeOf(server);
  await operator.execute(`CREATE ROLE ${ROLE} LOGIN; GRANT CREATE ON SCHEMA public TO ${ROLE}`);
  const url = new URL(server.url());
  url.username = ROLE;
  const service = await Service.over(new PostgresStore(url.href, 'postgres'));
  const changes = CHANGES.map(([name, ...sql]) => ({ scenario: new Scenario(name), sql }));
  const scenarios = changes.map(({ scenario }) => scenario);
  const stage = await Stage.start(service, scenarios[0] ?? new Scenario(''));
  for (let i = 0; i < times; i++)
    for (const { scenario, sql } of changes) await stage.round(scenario, () => strike(...sql));
  await stage.finish();
  await server.remove();
  return scenarios;

  async function strike(change: string, undo: string): Promise<void> {
    const { counts } = stage.ledger.scenario;
    const { refused } = counts;
    await operator.execute(change);
    await stage.until('plants are refused', () => counts.refused > refused);
    await sleep(CHANGED_MS);
    await operator.execute(undo);
  }
}
