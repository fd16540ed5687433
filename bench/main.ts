import { readFileSync, writeFileSync } from 'node:fs';
import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import {
  contestantsOn,
  POCKETBASE,
  pocketBase,
  startServer,
  STORING_NEST,
  type Contestant,
  type Server,
} from './contestants.js';
import { LOAD_CORE, SERVER_CORE, stepAside, useDisk } from './machine.js';
import { describeRun, medianOf, number, rangeOf, report, table, type Cells } from './markdown.js';
import { CROWD, figuresOf, inRounds, measure } from './measure.js';
import { options } from './options.js';

const LATENCIES_MS = [1, 4, 16];

/** `npm run bench`: the service on each engine, beside servers that do less. */
const { rounds, seconds, connections } = options;
useDisk();
// Before stepAside(), so that the servers may use all cores.
const postgres = await PostgresServer.start();
const slowServers = new Map<number, PostgresServer>();
for (const ms of LATENCIES_MS)
  slowServers.set(ms, await PostgresServer.start([`commit_delay=${ms}000`, 'commit_siblings=0']));
stepAside();
// One by one: PostgreSQL's background work would slow down servers on SQLite.
const newSqlite = () => Promise.resolve(new SqliteStore());
const onSqlite = await contestantsOn('SQLite', newSqlite);
onSqlite.push(await pocketBase(await newSqlite()));
const sqlite = await compare(onSqlite, describeAll);
const newPostgres = () => PostgresStore.create(postgres.url());
const postgresql = await compare(await contestantsOn('PostgreSQL', newPostgres), describeAll);
await postgres.remove();
const slow: Cells[] = [];
for (const [ms, server] of slowServers) slow.push(await compareSlow(ms, server));
const description = describeRun(
  `wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
  `${rounds} rounds, every row in each, ${seconds} s each: medians (least–most)`,
);
const parts = [
  description,
  ...['### SQLite', table(sqlite)],
  ...['### PostgreSQL', table(postgresql)],
  ...['### PostgreSQL, each sync of its log delayed', table(slow)],
];
if (options.publish) {
  const page = 'docs/performance.md';
  const old = /(?<=<!-- begin create -->\n)[^]*(?=<!-- end create -->)/;
  const text = readFileSync(page, 'utf8').replace(old, () => `\n${parts.join('\n\n')}\n\n`);
  writeFileSync(page, text);
}
report(parts, []);

/** Measures servers in rounds, and checks that every plant of a 200 is stored. @param work is done before they end */
async function compare<Result>(
  contestants: readonly Contestant[],
  work: (servers: readonly Server[]) => Result | Promise<Result>,
): Promise<Result> {
  const servers: Server[] = [];
  for (const each of contestants) servers.push(await startServer(each));
  // Compiles, and fills caches.
  for (const server of servers) await measure(server);
  await inRounds(servers);
  const result = await work(servers);
  for (const server of servers) {
    await server.stop();
    const { name, accepted, isStoring, store } = server;
    const stored = isStoring ? await store.count() : accepted;
    if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
  }
  return result;
}

/** Compares on a server that waits before each sync of its log, as one with a slower disk does. */
async function compareSlow(ms: number, server: PostgresServer): Promise<Cells> {
  const newStore = () => PostgresStore.create(server.url());
  const contestants = await contestantsOn('PostgreSQL', newStore, [STORING_NEST]);
  const rates = await compare(contestants, (servers) =>
    servers.map((each) => [`${each.name}, creates/s`, rangeOf(figuresOf(each, 'rate'), 0)]),
  );
  await server.remove();
  return { 'delay, ms': ms, ...(Object.fromEntries(rates) as Cells) };
}

async function describeAll(servers: readonly Server[]): Promise<Cells[]> {
  const lines: Cells[] = [];
  for (const server of servers) lines.push(await describe(server, servers[0]));
  return lines;
}

async function describe(server: Server, own = server): Promise<Cells> {
  const crowd = await measure(server, CROWD);
  const cpu = figuresOf(server, 'cpu');
  // Within each round, as the machine's speed drifts.
  const ratios = figuresOf(own, 'cpu').map((ours, i) => ours / (cpu[i] ?? NaN));
  return {
    '': server.name,
    'creates/s': rangeOf(figuresOf(server, 'rate'), 0),
    'CPU, µs': rangeOf(cpu, 1),
    'our CPU ÷ its': server === own ? '' : rangeOf(ratios, 2),
    'main thread':
      server.name === POCKETBASE ? '' : number(medianOf(figuresOf(server, 'mainCpu')), 1),
    'memory, MB': Math.max(medianOf(figuresOf(server, 'peakMb')), crowd.peakMb),
  };
}
