import { runLoad, type Load, type Result } from './load.js';
import type { Options } from './options.js';
import type { Server } from './server.js';
import { cpuSeconds, endedChildrenCpuSeconds, residentBytes } from './usage.js';

/** One server in one round. */
export interface Sample {
  /** Answers a second, and the time in milliseconds within which 99 of 100 came. */
  readonly rate: number;
  readonly p99: number;
  /** In cores, all processes of the server together. */
  readonly serverCpu: number;
  readonly loadCpu: number;
  /** The database server's, where there is one. */
  readonly databaseCpu: number | undefined;
  /** The most resident memory that the server had, in bytes. */
  readonly resident: number;
  /** Plants that it answered with 200, in the warm-up too. */
  readonly accepted: number;
}

/**
 * Puts a server under load: first a warm-up, then the load that counts.
 *
 * @throws Error where any answer is not 200, or any connection breaks
 */
export async function measure(server: Server, options: Options, ids: Load['ids']): Promise<Sample> {
  const { connections, seconds, warmUp } = options;
  const load = { url: server.url, connections, token: server.token, ids };
  const warm = await runLoad({ ...load, seconds: warmUp });
  check(server, warm);

  const before = readClocks(server);
  let resident = 0;
  const watch = setInterval(() => (resident = Math.max(resident, residentBytes(server.pid))), 100);
  const result = await runLoad({ ...load, seconds }).finally(() => clearInterval(watch));
  const after = readClocks(server);
  check(server, result);
  const cores = (clock: 'server' | 'load' | 'database') =>
    (after[clock] - before[clock]) / (after.wall - before.wall);
  return {
    rate: result.requests / result.seconds,
    p99: result.p99,
    serverCpu: cores('server'),
    loadCpu: cores('load'),
    databaseCpu: server.database === undefined ? undefined : cores('database'),
    resident,
    accepted: warm.requests + result.requests,
  };
}

/** Seconds on the wall, and of CPU time so far; the load's is that of all generators. */
function readClocks({ pid, database }: Server) {
  return {
    wall: performance.now() / 1000,
    server: cpuSeconds(pid),
    load: endedChildrenCpuSeconds(),
    database: database === undefined ? 0 : cpuSeconds(database),
  };
}

function check({ name }: Server, { requests, not200, errors }: Result): void {
  if (requests > 0 && not200 === 0 && errors === 0) return;
  throw new Error(
    `${name}: of ${requests} answers ${not200} were not 200, and ${errors} connections broke or timed out`,
  );
}
