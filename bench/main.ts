import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { contestantsOn, startServer, type Engine, type Server } from './contestants.js';
import { LOAD_CORE, SERVER_CORE, start, stepAside, useDisk } from './machine.js';
import { describeRun, number, percent, publish, table, type Cells } from './markdown.js';
import { CROWD, inRounds, measure, median, range, ratio, type Row } from './measure.js';
import { options } from './options.js';
import { writePicture } from './picture.js';

/** Of fewer creates, strace would count the connecting of clients. */
const MIN_CREATES = 2_000;

/** `npm run bench`: the service on each engine, beside servers that do less. */
const { create, rounds, seconds, warmUp, connections, plants, version, quick, atOnce } = options;
/** PostgreSQL's default buffers do not hold a large store: creates would evict each other's pages. */
const settings = plants > 0 ? ['shared_buffers=1GB', 'max_wal_size=4GB'] : [];
const isDraft = quick || atOnce;
useDisk();
// Before stepAside(), so that the server may use all cores.
const postgres = await PostgresServer.start(settings);
stepAside();
// One by one: PostgreSQL's background work would slow down servers on SQLite.
const onSqlite = await compare('SQLite', () => Promise.resolve(new SqliteStore()));
const onPostgres = await compare('PostgreSQL', () => PostgresStore.create(postgres.url()));
await postgres.remove();
const description = describeRun(
  version,
  `- wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
  `- ${rounds} rounds, every row in each${atOnce ? ' at once' : ''}, ${seconds} s each after ${warmUp} s of warm-up: medians (least–most)`,
);
const report = [description, '### SQLite', onSqlite, '### PostgreSQL', onPostgres];
publish(report, [], create && !isDraft ? ['docs/performance.md', 'create'] : undefined);

/** The table of an engine. */
async function compare(engine: Engine, newStore: () => Promise<TemporaryStore>): Promise<string> {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) servers.push(await startServer(each));
  // Compiles, and fills caches.
  if (create) for (const server of servers) await measure(server);
  const rows = await inRounds(servers);
  const lines: Cells[] = [];
  for (const row of rows) lines.push(create ? await describeCost(row, rows) : describe(row, rows));
  for (const server of servers) await server.stop();
  for (const row of rows) await checkStored(row);
  if (create && engine === 'SQLite' && !isDraft) writePicture('docs/performance.svg', rows);
  return table(lines);
}

/** @throws Error if a plant of a 200 is not stored */
async function checkStored({ name, server, samples }: Row): Promise<void> {
  if (!server.isStoring) return;
  const accepted = samples.reduce((sum, sample) => sum + sample.accepted, 0);
  const stored = await server.store.count();
  if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
}

/** What clients and operators see. */
function describe(row: Row, rows: readonly Row[]) {
  return {
    '': row.name,
    'creates/s': range(row, 'rate', 0),
    ...ratio(rows, row, 'rate'),
    'p99, ms': range(row, 'p99', 1),
    'CPU a create, µs': range(row, 'cpuPerCreate', 1),
    'server CPU': percent(median(row, 'serverCpu')),
    'generator CPU': percent(median(row, 'loadCpu')),
    'memory, MB': median(row, 'memoryMb'),
    'idle, MB': row.server.idleMb,
    'start, ms': row.server.startMs,
  };
}

/** The work that a create causes, which a busy machine changes less than creates/s. */
async function describeCost(row: Row, rows: readonly Row[]) {
  const { memoryMb } = await measure(row.server, CROWD);
  const calls = await countCalls(row.server);
  return {
    '': row.name,
    'creates/s': range(row, 'rate', 0),
    'CPU, µs': range(row, 'cpuPerCreate', 1),
    ...ratio(rows, row, 'cpuPerCreate'),
    'main thread': number(median(row, 'mainPerCreate'), 1),
    'allocated, kB': number(median(row, 'allocatedKb'), 1),
    'survived, %': number(median(row, 'survived'), 1),
    'promoted, %': range(row, 'promoted', 1),
    // A dash where strace is missing, may not attach, or is too slow on a busy machine.
    'system calls': calls > 0 ? number(calls, 1) : '–',
    'memory, MB': median(row, 'memoryMb'),
    [`with ${number(CROWD)} connections`]: memoryMb,
  };
}

/** System calls of all threads for each create, or NaN where strace cannot count them. */
async function countCalls(server: Server): Promise<number> {
  const strace = ['strace', '-c', '-f', '-U', 'calls,name', '-p', String(server.pid)];
  const child = start(LOAD_CORE, strace, { stdio: ['ignore', 'ignore', 'pipe'] });
  const stderr = child.stderr as Readable;
  // It has attached itself, or says why it cannot.
  await once(stderr, 'data');
  // It may be so slow on a busy machine that no response comes.
  const sample = await measure(server).catch(() => ({ accepted: 0 }));
  child.kill('SIGINT');
  const [, calls] = /(\d+) +total$/m.exec(await text(stderr)) ?? [];
  return sample.accepted < MIN_CREATES ? NaN : Number(calls) / sample.accepted;
}
