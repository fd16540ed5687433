import { readFileSync, writeFileSync } from 'node:fs';
import { PostgresServer } from '../test/support/postgres-server.js';
import { PostgresStore } from '../test/support/postgres-store.js';
import { SqliteStore } from '../test/support/sqlite-store.js';
import type { TemporaryStore } from '../test/support/temporary-store.js';
import { contestantsOn, startServer, type Engine, type Server } from './contestants.js';
import { LOAD_CORE, SERVER_CORE, stepAside, useDisk } from './machine.js';
import { describeRun, medianOf, number, rangeOf, report, table, type Cells } from './markdown.js';
import { CROWD, figuresOf, inRounds, measure } from './measure.js';
import { options } from './options.js';

/** `npm run bench`: the service on each engine, beside servers that do less. */
const { rounds, seconds, connections } = options;
useDisk();
// Before stepAside(), so that the server may use all cores.
const postgres = await PostgresServer.start();
stepAside();
// One by one: PostgreSQL's background work would slow down servers on SQLite.
const onSqlite = await compare('SQLite', () => Promise.resolve(new SqliteStore()));
const onPostgres = await compare('PostgreSQL', () => PostgresStore.create(postgres.url()));
await postgres.remove();
const description = describeRun(
  `wrk with ${connections} connections on core ${LOAD_CORE}, server on core ${SERVER_CORE}`,
  `${rounds} rounds, every row in each, ${seconds} s each: medians (least–most)`,
);
const parts = [description, '### SQLite', onSqlite, '### PostgreSQL', onPostgres];
if (options.publish) {
  const page = 'docs/performance.md';
  const old = /(?<=<!-- begin create -->\n)[^]*(?=<!-- end create -->)/;
  const text = readFileSync(page, 'utf8').replace(old, () => `\n${parts.join('\n\n')}\n\n`);
  writeFileSync(page, text);
}
report(parts, []);

/** The table of an engine. */
async function compare(engine: Engine, newStore: () => Promise<TemporaryStore>): Promise<string> {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) servers.push(await startServer(each));
  // Compiles, and fills caches.
  for (const server of servers) await measure(server);
  await inRounds(servers);
  const lines: Cells[] = [];
  for (const server of servers) lines.push(await describe(server, servers[0]));
  for (const server of servers) {
    await server.stop();
    // Every plant of a 200 must be stored.
    const { name, accepted, isStoring, store } = server;
    const stored = isStoring ? await store.count() : accepted;
    if (stored < accepted) throw new Error(`${name}: ${accepted} accepted, but ${stored} stored`);
  }
  return table(lines);
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
    'main thread': number(medianOf(figuresOf(server, 'mainCpu')), 1),
    'memory, MB': medianOf(figuresOf(server, 'peakMb')),
    [`with ${number(CROWD)} connections`]: crowd.peakMb,
  };
}
