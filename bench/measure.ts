import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Server } from './contestants.js';
import { CORES, cpuSeconds, residentMb, start } from './machine.js';
import { options } from './options.js';

/** One server in one round. */
export type Sample = Awaited<ReturnType<typeof measure>>;

/** A contestant and its samples, one for each round. */
export interface Row<C = unknown> {
  readonly name: string;
  readonly contestant: C;
  readonly samples: Sample[];
}

/** Ids from a random start upwards, below 2^53; or random ones from the whole of int64. */
export type Ids = 'sequential' | 'wide';

/** The generator's name and version. */
export function generator(): string {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  if (error) throw new Error('the benchmark needs wrk (Debian: apt-get install wrk)');
  return stdout.split(' ', 2).join(' ');
}

/**
 * Puts a server under load: first a warm-up, then the load that counts.
 *
 * @throws Error where any answer is not 200, or any connection breaks
 */
export async function measure(server: Server, ids: Ids) {
  const { pid, database, startMs, idleMb } = server;
  const warm = await load(server, options.warmUp, ids);
  let memoryMb = 0;
  const watch = setInterval(() => (memoryMb = Math.max(memoryMb, residentMb(pid))), 100);
  const before = { server: cpuSeconds(pid), database: cpuSeconds(database ?? NaN) };
  const { requests, seconds, p99, cpu } = await load(server, options.seconds, ids);
  const used = cpuSeconds(pid) - before.server;
  const usedByDatabase = cpuSeconds(database ?? NaN) - before.database;
  clearInterval(watch);
  return {
    rate: requests / seconds,
    /** Milliseconds within which 99 of 100 answers came. */
    p99,
    /** Microseconds of CPU time for each create. */
    cpuPerCreate: (used / requests) * 1e6,
    databaseCpuPerCreate: database && (usedByDatabase / requests) * 1e6,
    /** In cores. */
    serverCpu: used / seconds,
    loadCpu: cpu / seconds,
    /** The most that was resident. */
    memoryMb,
    idleMb,
    startMs,
    /** Plants that were answered with 200, in the warm-up too. */
    accepted: warm.requests + requests,
  };
}

/** Runs the generator on its core, to its end. */
async function load({ name, url, token }: Server, seconds: number, ids: Ids) {
  const wrk = ['wrk', '-t1', `-c${options.connections}`, `-d${seconds}s`, '--timeout', '10s'];
  const plants = [token, String(randomInt(2 ** 47)), ids];
  const command = [...wrk, '-s', resolve('bench/post.lua'), url, '--', ...plants];
  const child = start(CORES?.load, command);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json] = /^\{.*\}$/m.exec(printed) ?? [];
  if (json === undefined) throw new Error(`no result from wrk: ${printed}`);
  const result = JSON.parse(json) as Record<
    'requests' | 'seconds' | 'p99' | 'cpu' | 'not200' | 'errors',
    number
  >;
  if (result.requests > 0 && result.not200 === 0 && result.errors === 0) return result;
  throw new Error(`${name}: ${json}`);
}

/** Takes a sample of every contestant in each round; each round begins with another one. */
export async function inRounds<C extends { readonly name: string }>(
  contestants: readonly C[],
  sample: (contestant: C) => Promise<Sample>,
): Promise<Row<C>[]> {
  const rows = contestants.map((contestant): Row<C> => {
    return { contestant, name: contestant.name, samples: [] };
  });
  for (let round = 0; round < options.rounds; round++) {
    const first = round % rows.length;
    for (const { contestant, name, samples } of [...rows.slice(first), ...rows.slice(0, first)]) {
      const taken = await sample(contestant);
      samples.push(taken);
      console.log(`round ${round + 1}  ${name}: ${Math.round(taken.rate)}/s, p99 ${taken.p99} ms`);
    }
  }
  return rows;
}
