import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Server } from './contestants.js';
import { cpuTimes, LOAD_CORE, residentMb, restartPeak, start } from './machine.js';
import { medianOf, rangeOf } from './markdown.js';
import { options } from './options.js';

/** So many connections may be too many: refused requests and broken connections are no error. */
export const CROWD = 1_000;

/** One server in one round. */
type Sample = Awaited<ReturnType<typeof measure>>;

/** A server and its samples, one for each round. */
export interface Row {
  readonly server: Server;
  readonly samples: Sample[];
}

/**
 * Puts a server under load.
 *
 * @throws Error for a refused request or a broken connection, unless it is a crowd
 */
export async function measure(server: Server, connections = options.connections) {
  const { pid } = server;
  restartPeak(pid);
  const before = cpuTimes(pid);
  const { accepted, seconds, p99, cpu } = await run(server, connections);
  const after = cpuTimes(pid);
  return {
    /** Creates a second. */
    rate: accepted / seconds,
    /** 99th percentile of the response times in milliseconds. */
    p99,
    /** Microseconds of CPU time for each create: of all threads, and of the main one. */
    cpuPerCreate: (after.all - before.all) / accepted,
    mainPerCreate: (after.main - before.main) / accepted,
    /** In cores. */
    loadCpu: cpu / seconds,
    /** Peak of the resident memory. */
    memoryMb: residentMb(pid, 'VmHWM'),
  };
}

/** Runs wrk (Debian: apt-get install wrk) on its core, to its end. */
async function run(server: Server, connections: number) {
  const { name, token, url } = server;
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${options.seconds}s`, '--timeout', '10s'];
  const ids = [String(randomInt(2 ** 47)), options.plants > 0 ? 'random' : 'sequential'];
  const script = ['-s', resolve('bench/post.lua'), url, '--', token, ...ids];
  const child = start(LOAD_CORE, [...wrk, ...script]);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json] = /^\{.*\}$/m.exec(printed) ?? [];
  if (json === undefined) throw new Error(`no result from wrk: ${printed}`);
  type Result = Record<'accepted' | 'failed' | 'seconds' | 'p99' | 'cpu', number>;
  const result = JSON.parse(json) as Result;
  server.accepted += result.accepted;
  const isServed = result.failed === 0 || connections >= CROWD;
  if (result.accepted > 0 && isServed) return result;
  throw new Error(`${name}: ${json}`);
}

/** Measures every server in each round, one by one. */
export async function inRounds(servers: readonly Server[]): Promise<Row[]> {
  const rows = servers.map((server): Row => ({ server, samples: [] }));
  for (let round = 1; round <= options.rounds; round++) {
    // In random order, as leftover work of one, such as disk writes, slows the next.
    const order = rows.map((row) => ({ row, lot: Math.random() })).sort((a, b) => a.lot - b.lot);
    for (const { row } of order) {
      const sample = await measure(row.server);
      row.samples.push(sample);
      const { rate, p99 } = sample;
      console.log(`round ${round}  ${row.server.name}: ${Math.round(rate)}/s, p99 ${p99} ms`);
    }
  }
  return rows;
}

/** A figure's median over a row's rounds. */
export function median({ samples }: Row, figure: keyof Sample): number {
  return medianOf(samples.map((sample) => sample[figure]));
}

/** A figure's median and range. */
export function range({ samples }: Row, figure: keyof Sample, digits: number): string {
  const values = samples.map((sample) => sample[figure]);
  return rangeOf(values, digits);
}

/** A figure of the first row divided by each, within each round, as the machine's speed drifts. */
export function ratio([own]: readonly Row[], row: Row, figure: keyof Sample): string {
  const others = row.samples.map((sample) => sample[figure]);
  const ratios = own?.samples.map((sample, i) => sample[figure] / (others[i] ?? NaN)) ?? [];
  return row === own ? '' : rangeOf(ratios, 2);
}
