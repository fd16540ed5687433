import { runLoad, type Load, type Result } from './load.js';
import type { Options } from './options.js';
import type { Server } from './server.js';
import { cpuSeconds, endedChildrenCpuSeconds, residentBytes } from './usage.js';

/** One server in one round. */
export interface Sample {
  /** Answers a second, and the time in milliseconds within which 99 of 100 came. */
  readonly rate: number;
  readonly p99: number;
  /** Shares of a core, 0 to 1. */
  readonly serverCpu: number;
  readonly loadCpu: number;
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
export async function measure(
  server: Server,
  options: Options,
  plants: Pick<Load, 'token' | 'ids'>,
): Promise<Sample> {
  const { connections, seconds, warmUp } = options;
  const load = { url: server.url, connections, ...plants };
  const warm = await runLoad({ ...load, seconds: warmUp });
  check(server, warm);

  const [since, serverBefore, loadBefore] = readClocks(server);
  let resident = 0;
  const watch = setInterval(() => (resident = Math.max(resident, residentBytes(server.pid))), 100);
  const result = await runLoad({ ...load, seconds }).finally(() => clearInterval(watch));
  const [until, serverAfter, loadAfter] = readClocks(server);
  check(server, result);
  return {
    rate: result.requests / result.seconds,
    p99: result.p99,
    serverCpu: (serverAfter - serverBefore) / (until - since),
    loadCpu: (loadAfter - loadBefore) / (until - since),
    resident,
    accepted: warm.requests + result.requests,
  };
}

/** Seconds on the wall, and of CPU time: the server's, and the generators' so far. */
function readClocks({ pid }: Server): [wall: number, server: number, load: number] {
  return [performance.now() / 1000, cpuSeconds(pid), endedChildrenCpuSeconds()];
}

function check({ name }: Server, { requests, not200, errors }: Result): void {
  if (requests > 0 && not200 === 0 && errors === 0) return;
  throw new Error(
    `${name}: of ${requests} answers ${not200} were not 200, and ${errors} connections broke or timed out`,
  );
}
