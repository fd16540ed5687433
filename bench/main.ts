import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { contestantsOn, startServer, type Engine, type Server } from './contestants.js';
import { LOAD_CORE, SERVER_CORE, stepAside, useDisk } from './machine.js';
import { describeRun, number, publish, table, type Cells } from './markdown.js';
import { CROWD, inRounds, measure, median, range, ratio, type Row } from './measure.js';
import { options } from './options.js';

/** `npm run bench`: the service on each engine, beside servers that do less. */
const { rounds, seconds, connections, plants, quick } = options;
/** PostgreSQL's default buffers do not hold a large store: creates would evict each other's pages. */
const settings = plants > 0 ? ['shared_buffers=1GB', 'max_wal_size=4GB'] : [];
useDisk();
// Before stepAside(), so that the server may use all cores.
const postgres = await PostgresServer.start(settings);
stepAside();
// One by one: PostgreSQL's background work would slow down servers on SQLite.
const onSqlite = await compare('SQLite', () => Promise.resolve(new SqliteStore()));
const onPostgres = await compare('PostgreSQL', () => PostgresStore.create(postgres.url()));
await postgres.remove();
const description = describeRun(
  `- wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
  `- ${rounds} rounds, every row in each, ${seconds} s each: medians (least–most)`,
);
const report = [description, '### SQLite', onSqlite, '### PostgreSQL', onPostgres];
publish(report, [], options.publish && !quick ? ['docs/performance.md', 'create'] : undefined);

/** The table of an engine. */
async function compare(engine: Engine, newStore: () => Promise<TemporaryStore>): Promise<string> {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) servers.push(await startServer(each));
  // Compiles, and fills caches.
  for (const server of servers) await measure(server);
  const rows = await inRounds(servers);
  const lines: Cells[] = [];
  for (const row of rows) lines.push(await describe(row, rows));
  for (const server of servers) {
    await server.stop();
    await checkStored(server);
  }
  return table(lines);
}

async function describe(row: Row, rows: readonly Row[]): Promise<Cells> {
  const { name, idleMb, startMs } = row.server;
  const crowd = await measure(row.server, CROWD);
  return {
    '': name,
    'creates/s': range(row, 'rate', 0),
    'ours ÷ its': ratio(rows, row, 'rate'),
    'CPU, µs': range(row, 'cpuPerCreate', 1),
    'our CPU ÷ its': ratio(rows, row, 'cpuPerCreate'),
    'main thread': number(median(row, 'mainPerCreate'), 1),
    'p99, ms': range(row, 'p99', 1),
    'generator CPU': `${number(median(row, 'loadCpu') * 100)} %`,
    'start, ms': startMs,
    'idle, MB': idleMb,
    'memory, MB': median(row, 'memoryMb'),
    [`with ${number(CROWD)} connections`]: crowd.memoryMb,
  };
}

/** @throws Error if a plant of a 200 is not stored */
async function checkStored({ name, accepted, isStoring, store }: Server): Promise<void> {
  if (!isStoring) return;
  const stored = await store.count();
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}
