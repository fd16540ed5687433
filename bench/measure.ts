import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Server } from './contestants.js';
import { cpuTimes, LOAD_CORE, residentMb, restartPeak, start } from './machine.js';
import { sendAtRate, type Load } from './open-loop.js';
import { options } from './options.js';

/** What a server did meanwhile. CPU times are microseconds for each create: of all threads, and of some. */
export type Sample = Load &
  Record<'rate' | 'cpu' | 'main' | 'writer' | 'helpers' | 'peakMb', number>;

/** Puts a server under load of connections that send one request after the other. @throws Error for a refused request or a broken connection */
export function measure(
  server: Server,
  seconds = options.seconds,
  connections = options.connections,
): Promise<Sample> {
  return observe(server, () => runWrk(server, seconds, connections));
}

/** Puts a server under load at a fixed rate. @throws Error as {@link measure} */
export function measureAtRate(server: Server, seconds: number, rate: number) {
  return observe(server, () => sendAtRate(server, seconds, rate));
}

async function observe<Seen extends Load>(
  server: Server,
  work: () => Promise<Seen>,
): Promise<Seen & Sample> {
  const { pid } = server;
  restartPeak(pid);
  const before = cpuTimes(pid);
  const load = await work();
  const after = cpuTimes(pid);
  server.accepted += load.accepted;
  const cpuOf = (thread: string) =>
    ((after.get(thread) ?? 0) - (before.get(thread) ?? 0)) / load.accepted;
  return {
    ...load,
    rate: load.accepted / load.seconds,
    cpu: cpuOf(''),
    main: cpuOf('node-MainThread'),
    writer: cpuOf('WorkerThread'),
    helpers: cpuOf('node-V8Worker'),
    peakMb: residentMb(pid, 'VmHWM'),
  };
}

/** Runs wrk (Debian: apt-get install wrk) on its core, to its end. */
async function runWrk(server: Server, seconds: number, connections: number): Promise<Load> {
  const { name, token, url } = server;
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'];
  const script = ['-s', resolve('bench/post.lua'), url, '--', token, String(randomInt(2 ** 47))];
  const child = start(LOAD_CORE, [...wrk, ...script]);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json = 'null'] = /^\{.*\}$/m.exec(printed) ?? [];
  const result = JSON.parse(json) as (Load & { failed: number }) | null;
  if (!result?.accepted || result.failed > 0) throw new Error(`${name}: ${printed}`);
  return result;
}

/** Measures every server in each round, one by one. Returns the samples of each, in the servers' order. */
export async function inRounds<Taken extends Sample>(
  servers: readonly Server[],
  rounds: number,
  take: (server: Server) => Promise<Taken>,
): Promise<Taken[][]> {
  const samples = new Map(servers.map((server) => [server, [] as Taken[]]));
  for (let round = 1; round <= rounds; round++) {
    // In random order, as leftover work of one, such as disk writes, slows the next.
    const lots = servers.map((server) => ({ server, lot: Math.random() }));
    for (const { server } of lots.sort((a, b) => a.lot - b.lot)) {
      const sample = await take(server);
      samples.get(server)?.push(sample);
      console.log(`round ${round}  ${server.name}: ${Math.round(sample.rate)}/s`);
    }
  }
  return [...samples.values()];
}
