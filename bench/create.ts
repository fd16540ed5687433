import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { contestantsOn, startServer, type Server } from './contestants.js';
import { LOAD_CORE, start } from './machine.js';
import { number, table } from './markdown.js';
import { inRounds, measure } from './measure.js';
import { options } from './options.js';
import { writePicture } from './picture.js';
import { compareOnEngines, median, range, ratio } from './report.js';

/** Connections of the load that shows the memory of many clients. */
const CROWD = 1_000;
/** Of fewer creates, strace would count the connecting of clients. */
const MIN_CREATES = 2_000;

/** `npm run bench -- --create`: the work that a create causes, which a busy machine changes less than creates/s. */
await compareOnEngines(['docs/performance.md', 'create'], [], async (engine, newStore) => {
  const servers: Server[] = [];
  for (const each of await contestantsOn(engine, newStore)) {
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
  if (engine === 'SQLite' && !options.quick) writePicture('docs/performance.svg', rows);
  const columns = rows.map((row) => {
    const { crowdMb = NaN, calls = NaN } = last.get(row.name) ?? {};
    return {
      '': row.name,
      'creates/s': range(row, 'rate', 0),
      'CPU, µs': range(row, 'cpuPerCreate', 1),
      ...ratio(rows, row, 'cpuPerCreate'),
      'main thread': range(row, 'mainPerCreate', 1),
      'V8’s helpers': range(row, 'helpersPerCreate', 1),
      'writing threads': range(row, 'workersPerCreate', 1),
      others: number(median(row, 'othersPerCreate'), 1),
      'allocated, kB': range(row, 'allocatedKb', 1),
      'survived, %': range(row, 'survived', 1),
      'promoted, %': range(row, 'promoted', 1),
      // A dash where strace is missing, may not attach, or is too slow on a busy machine.
      'system calls': calls > 0 ? number(calls, 1) : '–',
      'memory, MB': range(row, 'memoryMb', 0),
      [`with ${number(CROWD)} connections`]: crowdMb,
    };
  });
  return [table(columns)];
});

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
