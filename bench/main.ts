import { aimsOnPostgres, aimsOnSqlite, type PostgresRows, type SqliteRows } from './aims.js';
import { onPostgres, onSqlite } from './contestants.js';
import { describeRun } from './machine.js';
import { measure } from './measure.js';
import { readOptions } from './options.js';
import { pictureOf, writeBlock } from './page.js';
import { startPostgres } from './postgres.js';
import { stepAside, temporaryFolder } from './processes.js';
import { aimsOf, noteOnLoad, notesOn } from './report.js';
import { inRounds, type Row } from './rounds.js';
import { prepareRuntime } from './runtime.js';
import { startServer, type Contestant } from './server.js';
import { countPlants } from './store.js';
import { tableOf } from './table.js';

/** `npm run bench`: the service on SQLite and on PostgreSQL, beside others that do less. */
const options = readOptions();
const runtime = prepareRuntime(options.node);
const postgres = await startPostgres();
stepAside();
const folder = temporaryFolder();
const contestants = [
  ...onSqlite(folder, runtime),
  ...(await onPostgres(postgres, folder, runtime)),
];
const servers = await Promise.all(contestants.map((each) => startServer(each, runtime)));
const rows = await inRounds(servers, options.rounds, (each) =>
  measure(each, options, 'sequential'),
);
await Promise.all(servers.map((server) => server.stop()));
for (const row of rows) await checkStored(row);
await postgres.stop();

const all: Row[] = rows;
const [sqliteRows, postgresRows] = [all.slice(0, 4) as SqliteRows, all.slice(4) as PostgresRows];
const major = Number.parseInt(runtime.version);
const name = `node${major}`;
const picture = (file: string, title: string, of: Row[]) =>
  options.quick ? [] : [pictureOf(file, `${title}, Node ${runtime.version}`, of)];
const report = [
  describeRun('bench', options, runtime, postgres),
  '### SQLite',
  ...picture(name, 'Creates a second', sqliteRows),
  tableOf(sqliteRows),
  `${notesOn(sqliteRows)} ${noteOnLoad(sqliteRows[3])}`,
  aimsOf(aimsOnSqlite(sqliteRows, major)),
  '### PostgreSQL',
  ...picture(`${name}-postgres`, 'Creates a second on PostgreSQL', postgresRows),
  tableOf(postgresRows),
  notesOn(postgresRows),
  aimsOf(aimsOnPostgres(postgresRows, sqliteRows[0])),
].join('\n\n');
console.log(`\n${report}`);
if (!options.quick) writeBlock('performance.md', name, report);

/** An answer of 200 says that the plant is stored: so it must be. */
async function checkStored(row: Row & { readonly contestant: Contestant }): Promise<void> {
  const { contestant, samples } = row;
  if (contestant.store === undefined) return;
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = await countPlants(contestant.store);
  if (stored < accepted) throw new Error(`${row.name}: ${accepted} accepted, but ${stored} stored`);
}
