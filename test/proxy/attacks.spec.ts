/** @engine sqlite */
import { spawn } from 'node:child_process';
import http from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Nginx, upstreamLine } from '../support/nginx.js';
import { ServiceProcess } from '../support/service-process.js';
import { createFrom } from './honest-client.js';

const HONEST = '127.0.0.1';
const MAX_LATENCY_MS = 500;

let service: ServiceProcess;
let nginx: Nginx;
beforeAll(async () => {
  // Few lines: the log of an attack is not what is tested.
  service = await ServiceProcess.start({ env: { TRUST_PROXY: '1', LOG_REQUESTS: 'none' } });
  nginx = await Nginx.start({ upstream: upstreamLine(service.port) });
});
afterAll(async () => {
  await nginx.stop();
  await service.remove();
});

/** Starts an attacker, and creates plants one after the other from before it attacks until it says that it is done. */
async function createDuring(attack: string) {
  const authorization = `Bearer ${service.token}`;
  const headers = { authorization, 'content-type': 'application/json' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const attacker = spawn(process.execPath, ['test/proxy/attacker.ts', attack, String(nginx.port)], {
    env: { HEADERS: lines.join('') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  attacker.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const statuses = new Set<number>();
  let longest = 0;
  let duringIt = 0;
  for (let id = 0; !said.includes('done'); id++) {
    expect(attacker.exitCode).toBeNull();
    const body = JSON.stringify({ id, name: 'oak' });
    const start = performance.now();
    // In turn on its kept connection and on a new one.
    const agent = id % 2 === 0 ? kept : false;
    const { status } = await createFrom(HONEST, nginx.port, headers, body, agent);
    longest = Math.max(longest, performance.now() - start);
    statuses.add(status);
    if (said.includes('ready')) duringIt += 1;
  }
  attacker.kill('SIGKILL');
  kept.destroy();
  return { statuses: [...statuses], longest, duringIt };
}

it.each([
  ['a flood of pipelined refusals, with a valid token', 'refusals'],
  ['500 slow heads', 'heads'],
  ['500 slow bodies, with a valid token', 'bodies'],
  ['1,500 connections', 'connections'],
  ['pages that are not read', 'pages'],
])('during %s every create of another address takes at most 0.5 s', async (_name, attack) => {
  const { statuses, longest, duringIt } = await createDuring(attack);
  // For whoever changes a limit.
  if (process.env.TEST_PROXY_FIGURES) console.log(attack, Math.round(longest), 'ms', duringIt);
  expect(statuses).toEqual([200]);
  expect(longest).toBeLessThanOrEqual(MAX_LATENCY_MS);
  expect(duringIt).toBeGreaterThan(50);
  expect({ nginx: nginx.isAlive, service: service.exit }).toEqual({
    nginx: true,
    service: undefined,
  });
});
