import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import { contestantsOn, startServer, type Server } from './contestants.js';
import { stepAside, useDisk } from './machine.js';
import { number, publish } from './markdown.js';
import { inRounds, measure, type Row } from './measure.js';
import { options } from './options.js';
import { atLeast, describeBench, sectionOf, spread, type Aim } from './report.js';

/** `npm run bench`: the service on SQLite and on PostgreSQL, beside others that do less. */
useDisk();
// It keeps to the cores that we may use now.
const postgres = await PostgresServer.start();
process.prependOnceListener('exit', () => postgres.process?.kill('SIGQUIT'));
stepAside();
const onSqlite = await contestantsOn('SQLite', () => Promise.resolve(new SqliteStore()));
const newDatabase = () => PostgresStore.create(postgres.url());
const onPostgres = await contestantsOn('PostgreSQL', newDatabase, postgres.process?.pid);
const servers: Server[] = [];
for (const each of [...onSqlite, ...onPostgres]) servers.push(await startServer(each));
const rows = await inRounds(servers, (each) => measure(each, 'sequential'));
for (const server of servers) await server.stop();
for (const row of rows) await checkStored(row);

type Rows = [Row<Server>, Row<Server>, ...Row<Server>[]];
const sqliteRows = rows.slice(0, onSqlite.length) as Rows;
const postgresRows = rows.slice(onSqlite.length) as Rows;
const [own, stock] = sqliteRows;
const [p99, stockP99] = [own, stock].map((row) => spread(row, 'p99').median) as [number, number];
const memory = spread(own, 'memoryMb').max;
await postgres.remove();
const report = [
  describeBench('bench'),
  ...sectionOf('SQLite', sqliteRows, [
    ...aims(sqliteRows),
    [
      `p99 no worse than ${stock.name}`,
      `${number(p99, 1)} / ${number(stockP99, 1)} ms`,
      p99 <= stockP99,
    ],
    ['resident memory below 200 MB', `${number(memory)} MB`, memory < 200],
  ]),
  ...sectionOf('PostgreSQL', postgresRows, [
    ...aims(postgresRows),
    atLeast(0.7, postgresRows[0], own),
  ]),
];
const name = `node${Number.parseInt(options.version)}`;
publish(report, [], options.quick ? undefined : ['performance.md', name]);

/** What the first row is meant to reach beside the others. */
function aims([own, ...others]: Rows): Aim[] {
  return others.flatMap((other) => {
    const { least } = other.contestant;
    return least === undefined ? [] : [atLeast(least, own, other)];
  });
}

/** An answer of 200 says that the plant is stored: so it must be. */
async function checkStored({ name, contestant, samples }: Row<Server>): Promise<void> {
  if (!contestant.isStoring) return;
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = await contestant.store.count();
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}
