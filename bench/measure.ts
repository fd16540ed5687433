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

/** A name of a {@link Sample}'s figures. */
export type Figure = keyof Sample;

/** A server and its samples, one for each round. */
export interface Row {
  readonly name: string;
  readonly server: Server;
  readonly samples: Sample[];
}

/**
 * Puts a server under load: a warm-up, then the measured load.
 *
 * @throws Error for a refused request or a broken connection, unless it is a crowd
 */
export async function measure(server: Server, connections = options.connections) {
  const { pid } = server;
  const { warmUp, seconds: wanted } = options;
  const warm = warmUp > 0 ? await run(server, warmUp, connections) : undefined;
  restartPeak(pid);
  const read = () => ({ ...cpuTimes(pid), ...server.heap });
  const before = read();
  const { accepted, seconds, p99, cpu } = await run(server, wanted, connections);
  const after = read();
  const used = (figure: keyof typeof after) => after[figure] - before[figure];
  const perCreate = (figure: keyof typeof after) => used(figure) / accepted;
  return {
    /** Creates a second. */
    rate: accepted / seconds,
    /** 99th percentile of the response times in milliseconds. */
    p99,
    /** Microseconds of CPU time for each create: of all threads, and of the main one. */
    cpuPerCreate: perCreate('all'),
    mainPerCreate: perCreate('main'),
    /** On the main thread's heap: kB for each create, and percent of them that scavenges keep. */
    allocatedKb: perCreate('allocated') / 1_000,
    survived: (used('survived') / used('allocated')) * 100,
    promoted: (used('promoted') / used('allocated')) * 100,
    /** In cores. */
    serverCpu: used('all') / seconds / 1e6,
    loadCpu: cpu / seconds,
    /** Peak of the resident memory. */
    memoryMb: residentMb(pid, 'VmHWM'),
    /** Creates, with those of the warm-up. */
    accepted: (warm?.accepted ?? 0) + accepted,
  };
}

/** Runs wrk (Debian: apt-get install wrk) on its core, to its end. */
async function run({ name, token, url }: Server, seconds: number, connections: number) {
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'];
  const ids = [String(randomInt(2 ** 47)), options.plants > 0 ? 'random' : 'sequential'];
  const script = ['-s', resolve('bench/post.lua'), url, '--', token, ...ids];
  const child = start(LOAD_CORE, [...wrk, ...script]);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json] = /^\{.*\}$/m.exec(printed) ?? [];
  if (json === undefined) throw new Error(`no result from wrk: ${printed}`);
  type Result = Record<'accepted' | 'failed' | 'seconds' | 'p99' | 'cpu', number>;
  const result = JSON.parse(json) as Result;
  const isServed = result.failed === 0 || connections >= CROWD;
  if (result.accepted > 0 && isServed) return result;
  throw new Error(`${name}: ${json}`);
}

/** Measures every server in each round: one by one, or at once by `--at-once`. */
export async function inRounds(servers: readonly Server[]): Promise<Row[]> {
  const rows = servers.map((server): Row => ({ server, name: server.name, samples: [] }));
  const take = async ({ server, name, samples }: Row): Promise<void> => {
    const sample = await measure(server);
    samples.push(sample);
    const { rate, p99 } = sample;
    console.log(`round ${samples.length}  ${name}: ${Math.round(rate)}/s, p99 ${p99} ms`);
  };
  for (let round = 0; round < options.rounds; round++) {
    // In random order, as leftover work of one, such as disk writes, slows the next.
    const order = rows.map((row) => ({ row, lot: Math.random() })).sort((a, b) => a.lot - b.lot);
    if (options.atOnce) await Promise.all(rows.map(take));
    else for (const { row } of order) await take(row);
  }
  return rows;
}

/** A figure's median over a row's rounds. */
export function median({ samples }: Row, figure: Figure): number {
  return medianOf(samples.map((sample) => sample[figure]));
}

/** A figure's median and range. */
export function range({ samples }: Row, figure: Figure, digits: number): string {
  const values = samples.map((sample) => sample[figure]);
  return rangeOf(values, digits);
}

/** A column of the first row divided by each, within each round, as the machine's speed drifts. */
export function ratio([own]: readonly Row[], row: Row, figure: Figure) {
  const others = row.samples.map((sample) => sample[figure]);
  const ratios = own?.samples.map((sample, i) => sample[figure] / (others[i] ?? NaN)) ?? [];
  return { [`${own?.name} ÷ it`]: row === own ? '' : rangeOf(ratios, 2) };
}
