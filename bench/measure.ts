import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Server } from './contestants.js';
import { cpuTimes, LOAD_CORE, residentMb, restartPeak, start } from './machine.js';
import { options } from './options.js';

/** One server in one round. */
export type Sample = Awaited<ReturnType<typeof measure>>;

/** A contestant and its samples, one for each round. */
export interface Row<C = unknown> {
  readonly name: string;
  readonly contestant: C;
  readonly samples: Sample[];
}

/** Options of a load. */
export interface Load {
  readonly connections?: number;
  /** Ids upwards from a random start below 2^53, or random int64s. */
  readonly ids?: 'sequential' | 'wide';
  /** Seconds of load before the measured one. */
  readonly warmUp?: number;
  /** Whether other answers than 200 and broken connections are counted instead of an error. */
  readonly isOverload?: boolean;
}

/**
 * Puts a server under load: a warm-up, then the measured load.
 *
 * @throws Error for an answer other than 200 or a broken connection
 */
export async function measure(server: Server, load: Load = {}) {
  const { pid, startMs, idleMb } = server;
  const { warmUp = options.warmUp } = load;
  const warm = warmUp > 0 ? await run(server, warmUp, load) : undefined;
  restartPeak(pid);
  const read = () => ({ ...cpuTimes(pid), ...server.heap });
  const before = read();
  const { requests, seconds, refused, wrong, p99, cpu } = await run(server, options.seconds, load);
  const after = read();
  const used = (figure: keyof typeof after) => after[figure] - before[figure];
  const perCreate = (figure: keyof typeof after) => used(figure) / requests;
  return {
    /** Answers a second, and the 503s among them. */
    rate: requests / seconds,
    refused: refused / seconds,
    /** Other answers, and connections that broke. */
    wrong,
    /** 99th percentile of the answer times in milliseconds. */
    p99,
    /** Microseconds of CPU time for each create: of all threads, and by group. */
    cpuPerCreate: perCreate('all'),
    mainPerCreate: perCreate('main'),
    helpersPerCreate: perCreate('helpers'),
    workersPerCreate: perCreate('workers'),
    othersPerCreate: perCreate('others'),
    /** On the main thread's heap: kB for each create, and percent of them that scavenges keep. */
    allocatedKb: perCreate('allocated') / 1_000,
    survived: (used('survived') / used('allocated')) * 100,
    promoted: (used('promoted') / used('allocated')) * 100,
    /** In cores. */
    serverCpu: used('all') / seconds / 1e6,
    loadCpu: cpu / seconds,
    /** Peak of the resident memory. */
    memoryMb: residentMb(pid, 'VmHWM'),
    idleMb,
    startMs,
    /** Plants answered with 200, with those of the warm-up. */
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
 * Takes a sample of every contestant in each round: one by one, or at once by `--at-once`.
 *
 * @param arrange the order in a round; by default random, as leftover work of one, such as disk writes, slows the next
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
    const take = async ({ contestant, name, samples }: Row<C>): Promise<void> => {
      const taken = await sample(contestant);
      samples.push(taken);
      console.log(`round ${round + 1}  ${name}: ${Math.round(taken.rate)}/s, p99 ${taken.p99} ms`);
    };
    if (options.isAtOnce) await Promise.all(rows.map(take));
    else for (const row of arrange(rows)) await take(row);
  }
  return rows;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const drawn = items.map((item) => ({ item, lot: Math.random() }));
  return drawn.sort((a, b) => a.lot - b.lot).map(({ item }) => item);
}
