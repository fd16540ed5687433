import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Server } from './contestants.js';
import { LOAD_CORE, cpuSeconds, residentMb, restartPeak, start } from './machine.js';
import { options } from './options.js';

/** One server in one round. */
export type Sample = Awaited<ReturnType<typeof measure>>;

/** A contestant and its samples, one for each round. */
export interface Row<C = unknown> {
  readonly name: string;
  readonly contestant: C;
  readonly samples: Sample[];
}

/** What a load does otherwise than by default. */
export interface Load {
  readonly connections?: number;
  /** Ids from a random start upwards, below 2^53; or random ones from the whole of int64. */
  readonly ids?: 'sequential' | 'wide';
  /** Seconds of load before the one that counts. */
  readonly warmUp?: number;
  /** Whether answers but 200, and connections that break, are counted and no error. */
  readonly isOverload?: boolean;
}

/**
 * Puts a server under load: first a warm-up, then the load that counts.
 *
 * @throws Error where any answer is not 200, or any connection breaks
 */
export async function measure(server: Server, load: Load = {}) {
  const { pid, startMs, idleMb } = server;
  const { warmUp = options.warmUp } = load;
  const warm = warmUp > 0 ? await run(server, warmUp, load) : undefined;
  restartPeak(pid);
  const before = cpuSeconds(pid);
  const { requests, seconds, refused, wrong, p99, cpu } = await run(server, options.seconds, load);
  const used = cpuSeconds(pid) - before;
  return {
    /** Answers a second, and those of them that were a 503. */
    rate: requests / seconds,
    refused: refused / seconds,
    /** Other answers, and connections that broke. */
    wrong,
    /** Milliseconds within which 99 of 100 answers came. */
    p99,
    /** Microseconds of CPU time for each create. */
    cpuPerCreate: (used / requests) * 1e6,
    /** In cores. */
    serverCpu: used / seconds,
    loadCpu: cpu / seconds,
    /** The most that was resident. */
    memoryMb: residentMb(pid, 'VmHWM'),
    idleMb,
    startMs,
    /** Plants that were answered with 200, in the warm-up too. */
    accepted: (warm?.requests ?? 0) + requests - refused,
  };
}

/** Runs wrk (Debian: apt-get install wrk) on its core, to its end. */
async function run(server: Server, seconds: number, load: Load) {
  const { connections = options.connections, ids = 'sequential', isOverload } = load;
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'];
  const plants = [server.token, String(randomInt(2 ** 47)), ids];
  const command = [...wrk, '-s', resolve('bench/post.lua'), server.url, '--', ...plants];
  const child = start(LOAD_CORE, command);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json] = /^\{.*\}$/m.exec(printed) ?? [];
  if (json === undefined) throw new Error(`no result from wrk: ${printed}`);
  const result = JSON.parse(json) as Record<
    'requests' | 'seconds' | 'refused' | 'wrong' | 'p99' | 'cpu',
    number
  >;
  const { requests, refused, wrong } = result;
  if (requests > 0 && (isOverload || refused + wrong === 0)) return result;
  throw new Error(`${server.name}: ${json}`);
}

/**
 * Takes a sample of every contestant in each round.
 *
 * @param arrange the order in a round: by chance, where what one leaves undone, such as the disk's writes, would else
 *   always slow down the same next one
 */
export async function inRounds<C extends { readonly name: string }>(
  contestants: readonly C[],
  sample: (contestant: C) => Promise<Sample>,
  arrange = shuffled<Row<C>>,
): Promise<Row<C>[]> {
  const rows = contestants.map((contestant): Row<C> => {
    return { contestant, name: contestant.name, samples: [] };
  });
  for (let round = 0; round < options.rounds; round++) {
    for (const { contestant, name, samples } of arrange(rows)) {
      const taken = await sample(contestant);
      samples.push(taken);
      console.log(`round ${round + 1}  ${name}: ${Math.round(taken.rate)}/s, p99 ${taken.p99} ms`);
    }
  }
  return rows;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, lot: Math.random() }));
  return drawn.sort((a, b) => a.lot - b.lot).map(({ item }) => item);
}
