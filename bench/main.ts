import { readFileSync, writeFileSync } from 'node:fs';
import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import { compare, describeAll, figuresOf, measureBriefly } from './comparison.js';
import { contestantsOn, pocketBase, STOCK_NEST, STORING_NEST } from './contestants.js';
import { LOAD_CORE, SERVER_CORE, stepAside, useDisk } from './machine.js';
import { describeRun, number, rangeOf, report, table, type Cells } from './markdown.js';
import { measure } from './measure.js';
import { options } from './options.js';
import { describeVersions } from './versions.js';

const LATENCIES_MS = [1, 4, 16];

/** `npm run bench`: the service on each engine, beside servers that do less. */
const { rounds, seconds, warmup, connections } = options;
const versions = describeVersions();
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
const spread = number(100 * (sqlite.spread.get(STOCK_NEST) ?? NaN));
const description = describeRun(
  versions,
  `wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
  `${warmup} s of load, then ${rounds} rounds, every row in each, ${seconds} s each: medians (least–most)`,
  `stock Nest's own CPU time was within ${spread} % of its median`,
);
const BY_LEVEL = 'Creates/s, and CPU in µs, by connections:';
const TIMES = [
  'Response times in ms, p50 / p99 / p99.9, by connections that send one request after the other, and at a fixed rate, half of',
  'the creates/s above, by when requests were due (99 % of them were sent with the delay of the last column at most):',
].join('\n');
const parts = [
  description,
  ...['### SQLite', table(sqlite.total), BY_LEVEL, table(sqlite.rates)],
  ...[TIMES, table(sqlite.times)],
  ...['### PostgreSQL', table(postgresql.total), BY_LEVEL, table(postgresql.rates)],
  ...[TIMES, table(postgresql.times)],
  ...['### PostgreSQL, each sync of its log delayed', table(slow)],
];
if (options.publish) {
  const page = 'docs/performance.md';
  const old = /(?<=<!-- begin create -->\n)[^]*(?=<!-- end create -->)/;
  const text = readFileSync(page, 'utf8').replace(old, () => `\n${parts.join('\n\n')}\n\n`);
  writeFileSync(page, text);
}
report(parts, []);

/** Compares on a server that waits before each sync of its log, as one with a slower disk does. */
async function compareSlow(ms: number, server: PostgresServer): Promise<Cells> {
  const newStore = () => PostgresStore.create(server.url());
  const contestants = await contestantsOn('PostgreSQL', newStore, [STORING_NEST]);
  const rates = await compare(contestants, async (servers) => {
    const samples = await measureBriefly(servers, measure);
    return servers.map(({ name }, i) => [
      `${name}, creates/s`,
      rangeOf(figuresOf(samples[i], 'rate'), 0),
    ]);
  });
  await server.remove();
  return { 'delay, ms': ms, ...(Object.fromEntries(rates) as Cells) };
}
