import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import { contestantsOn, startServer, type Server } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { publish } from './markdown.js';
import { inRounds, measure, type Row } from './measure.js';
import { options } from './options.js';
import { describeBench, sectionOf } from './report.js';

/** `npm run bench`: the service on SQLite and on PostgreSQL, beside others that do less. */
useDisk();
// It keeps to the cores that we may use now.
const postgres = await PostgresServer.start();
stepAside();
const sections = [
  ...(await compare('SQLite', () => Promise.resolve(new SqliteStore()))),
  ...(await compare('PostgreSQL', () => PostgresStore.create(postgres.url()))),
];
await postgres.remove();
const name = `node${Number.parseInt(options.version)}`;
publish(
  [describeBench(), ...sections],
  [],
  options.quick ? undefined : ['docs/performance.md', name],
);

/** One engine after the other: PostgreSQL's own work in the background would slow down those on SQLite. */
async function compare(...[engine, newStore]: Parameters<typeof contestantsOn>): Promise<string[]> {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) servers.push(await startServer(each));
  const rows = await inRounds(servers, (each) => measure(each));
  for (const server of servers) await server.stop();
  for (const row of rows) await checkStored(row);
  return sectionOf(engine, rows);
}

/** An answer of 200 says that the plant is stored: so it must be. */
async function checkStored({ name, contestant, samples }: Row<Server>): Promise<void> {
  if (!contestant.isStoring) return;
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = await contestant.store.count();
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}
