import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { SqliteStore } from '../test/support/sqlite-store.js';
import { contestantsOn, startServer, type Server } from './contestants.js';
import { LOAD_CORE, start, stepAside, useDisk } from './machine.js';
import { number, publish } from './markdown.js';
import { inRounds, measure } from './measure.js';
import { options } from './options.js';
import { describeBench, median, range, ratio, tableOf } from './report.js';

/** Connections of the load that shows the memory of many clients. */
const CROWD = 1_000;
/** Of fewer creates, strace would count the connecting of clients. */
const MIN_CREATES = 2_000;

/** `npm run bench:create`: the work that a create causes, which a busy machine changes less than creates/s. */
useDisk();
stepAside();
const newStore = () => Promise.resolve(new SqliteStore());
const servers: Server[] = [];
for (const each of await contestantsOn('SQLite', newStore, 'nothing')) {
  servers.push(await startServer(each, true));
}
// Compiles, and fills caches.
for (const server of servers) await measure(server);
const rows = await inRounds(servers, (server) => measure(server));
const last = new Map<string, { crowdMb: number; calls: number }>();
for (const server of servers) {
  const { memoryMb } = await measure(server, { connections: CROWD, isOverload: true });
  last.set(server.name, { crowdMb: memoryMb, calls: await countCalls(server) });
}
for (const server of servers) await server.stop();

const isCounted = [...last.values()].every(({ calls }) => calls > 0);
const report = tableOf(rows, [
  range('creates/s', 'rate', 0),
  range('CPU, µs', 'cpuPerCreate', 1),
  ratio(rows, 'cpuPerCreate'),
  range('main thread', 'mainPerCreate', 1),
  range('V8’s helpers', 'helpersPerCreate', 1),
  range('writing threads', 'workersPerCreate', 1),
  median('others', 'othersPerCreate', 1),
  range('allocated, kB', 'allocatedKb', 1),
  range('survived, %', 'survived', 1),
  range('promoted, %', 'promoted', 1),
  ['system calls', ({ name }) => number(last.get(name)?.calls ?? NaN, 1).replace('NaN', '–')],
  range('memory, MB', 'memoryMb', 0),
  [`with ${number(CROWD)} connections`, ({ name }) => number(last.get(name)?.crowdMb ?? NaN)],
]);
const place = options.quick ? undefined : (['docs/performance.md', 'create'] as const);
const notes = isCounted
  ? []
  : ['- no system calls (–): strace is missing, may not attach, or is too slow on a busy machine'];
publish([describeBench(...notes), report], [], place);

/** System calls of all threads for each create, or NaN where strace cannot count them. */
async function countCalls(server: Server): Promise<number> {
  const strace = ['strace', '-c', '-f', '-U', 'calls,name', '-p', String(server.pid)];
  const child = start(LOAD_CORE, strace, { stdio: ['ignore', 'ignore', 'pipe'] });
  let [creates, calls] = [NaN, NaN];
  let isLoaded = false;
  for await (const line of createInterface(child.stderr as Readable)) {
    if (line.endsWith(' total')) calls = Number.parseInt(line);
    if (isLoaded || !line.includes(' attached')) continue;
    isLoaded = true;
    // Without a single answer, as strace may be that slow on a busy machine.
    creates = await measure(server).then(
      ({ accepted }) => accepted,
      () => NaN,
    );
    child.kill('SIGINT');
  }
  return creates < MIN_CREATES ? NaN : calls / creates;
}
