import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Sample, Server } from './contestants.js';
import { cpuTime, LOAD_CORE, residentMb, restartPeak, start } from './machine.js';
import { options } from './options.js';

/** Connections of the measurement of memory. */
export const CROWD = 250;

/** Puts a server under load. @throws Error for a refused request or a broken connection */
export async function measure(server: Server, connections = options.connections): Promise<Sample> {
  const { pid } = server;
  restartPeak(pid);
  const cpuTimes = () => [cpuTime(`${pid}`), cpuTime(`${pid}/task/${pid}`)] as const;
  const before = cpuTimes();
  const { accepted, seconds } = await run(server, connections);
  const after = cpuTimes();
  return {
    rate: accepted / seconds,
    cpu: (after[0] - before[0]) / accepted,
    mainCpu: (after[1] - before[1]) / accepted,
    peakMb: residentMb(pid, 'VmHWM'),
  };
}

/** Runs wrk (Debian: apt-get install wrk) on its core, to its end. */
async function run(server: Server, connections: number) {
  const { name, token, url } = server;
  const wrk = ['wrk', '-t1', `-c${connections}`, `-d${options.seconds}s`, '--timeout', '10s'];
  const script = ['-s', resolve('bench/post.lua'), url, '--', token, String(randomInt(2 ** 47))];
  const child = start(LOAD_CORE, [...wrk, ...script]);
  const [printed] = await Promise.all([text(child.stdout as Readable), once(child, 'close')]);
  const [json = 'null'] = /^\{.*\}$/m.exec(printed) ?? [];
  type Result = Record<'accepted' | 'failed' | 'seconds', number>;
  const result = JSON.parse(json) as Result | null;
  if (!result?.accepted || result.failed > 0) throw new Error(`${name}: ${printed}`);
  server.accepted += result.accepted;
  return result;
}

/** Measures every server in each round, one by one. */
export async function inRounds(servers: readonly Server[]): Promise<void> {
  for (let round = 1; round <= options.rounds; round++) {
    // In random order, as leftover work of one, such as disk writes, slows the next.
    const lots = servers.map((server) => ({ server, lot: Math.random() }));
    for (const { server } of lots.sort((a, b) => a.lot - b.lot)) {
      const sample = await measure(server);
      server.samples.push(sample);
      console.log(`round ${round}  ${server.name}: ${Math.round(sample.rate)}/s`);
    }
  }
}

/** A figure of a server in each round. */
export function figuresOf({ samples }: Server, figure: keyof Sample): number[] {
  return samples.map((sample) => sample[figure]);
}
