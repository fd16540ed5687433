import { randomInt } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import { CORES, isInstalled, ROOT, start } from './processes.js';

/** A stretch of load on one server. */
export interface Load {
  readonly url: string;
  readonly token: string;
  readonly connections: number;
  readonly seconds: number;
  /** Ids from a random start upwards, below 2^53; or random ones from the whole of int64. */
  readonly ids: 'sequential' | 'wide';
}

/** What came of it; p99 in milliseconds. */
export interface Result {
  readonly requests: number;
  readonly seconds: number;
  readonly p99: number;
  /** Answers with another status than 200. */
  readonly not200: number;
  /** Broken connections and time-outs. */
  readonly errors: number;
}

const HAS_WRK = isInstalled('wrk');

/** The generator's name and version, for the report. */
export const GENERATOR = HAS_WRK
  ? spawnSync('wrk', ['-v'], { encoding: 'utf8' }).stdout.split(' ', 2).join(' ')
  : 'autocannon';

/**
 * Runs the generator on its core, to its end.
 *
 * @throws Error where it prints no result
 */
export async function runLoad(load: Load): Promise<Result> {
  const { url, token, connections, seconds, ids } = load;
  const plants = [token, String(randomInt(2 ** 47)), ids];
  const child = HAS_WRK
    ? start(CORES?.load, 'wrk', [
        ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'],
        ...['-s', `${ROOT}/bench/post.lua`, url, '--', ...plants],
      ])
    : start(CORES?.load, process.execPath, [
        `${ROOT}/dist/bench/post.js`,
        ...[url, String(connections), String(seconds), ...plants],
      ]);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json] = /^\{.*\}$/m.exec(printed) ?? [];
  if (json === undefined) throw new Error(`no result from ${GENERATOR}: ${printed}`);
  return JSON.parse(json) as Result;
}
