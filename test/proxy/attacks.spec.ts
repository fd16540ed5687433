/** @engine sqlite */
import { spawn } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { nginx, service, startBehindNginx } from './proxied-service.js';
import { Client } from '../support/client.js';

const MAX_LATENCY_MS = 500;
/** How many plants must have been created during an attack. */
const ENOUGH = 50;
/** Attacks that go on at full strength until the attacker is killed. */
const FLOODS = ['refusals', 'errors', 'costly'];

// Few lines: the log of an attack is not what is tested.
startBehindNginx({ TRUST_PROXY: '1', LOG_REQUESTS: 'none' });

/** Starts an attacker, and creates plants one after the other from before it attacks until it says that it is done. */
async function createDuring(attack: string) {
  using kept = new Client(nginx.port, service.token, 1);
  const lines = Object.entries(kept.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const attacker = spawn(process.execPath, ['test/proxy/attacker.ts', attack, String(nginx.port)], {
    env: { HEADERS: lines.join('') },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  attacker.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const statuses = new Set<number>();
  let longest = 0;
  let duringIt = 0;
  // Beside a flood a busy machine may create few before it is done.
  const isOver = () => said.includes('done') && (duringIt > ENOUGH || !FLOODS.includes(attack));
  for (let id = 0n; !isOver(); id++) {
    expect(attacker.exitCode).toBeNull();
    using fresh = new Client(nginx.port, service.token, 1);
    const start = performance.now();
    // In turn on its kept connection and on a new one.
    const { status } = await (id % 2n === 0n ? kept : fresh).create({ id, name: 'oak' });
    longest = Math.max(longest, performance.now() - start);
    statuses.add(status);
    if (said.includes('ready')) duringIt += 1;
  }
  attacker.kill('SIGKILL');
  return { statuses: [...statuses], longest, duringIt };
}

it.each([
  ['a flood of pipelined refusals, with a valid token', 'refusals'],
  ["a flood of pipelined requests for nginx's own errors", 'errors'],
  ['a flood of large bodies, with a valid token', 'costly'],
  ['500 slow heads', 'heads'],
  ['500 slow bodies, with a valid token', 'bodies'],
  ['1,500 connections', 'connections'],
  ['pages that are not read', 'pages'],
  ['pages that are loaded again and again', 'reloads'],
])('during %s every create of another address takes at most 0.5 s', async (_name, attack) => {
  const { statuses, longest, duringIt } = await createDuring(attack);
  // For whoever changes a limit.
  if (process.env.TEST_PROXY_FIGURES) console.log(attack, Math.round(longest), 'ms', duringIt);
  expect(statuses).toEqual([200]);
  expect(longest).toBeLessThanOrEqual(MAX_LATENCY_MS);
  expect(duringIt).toBeGreaterThan(ENOUGH);
  expect({ nginx: nginx.isAlive, service: service.exit }).toEqual({
    nginx: true,
    service: undefined,
  });
});
