import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { residentMb } from '../../bench/machine.js';
import { cellsOf, number, type Outcome } from '../../bench/markdown.js';
import type { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Random } from '../random.js';
import { send } from '../load.js';
import { crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS, type Attack } from './crowd.js';

/** The limit of a create in milliseconds. */
const MAX_CREATE_MS = 1_000;
/** Milliseconds of an attack after all its connections are open, and the longest wait for that. */
const [ATTACK_MS, MAX_OPENING_MS] = [4_000, 8_000];
/** Milliseconds between two creates of a client. */
const CREATE_INTERVAL_MS = 250;
/** Attacks of several kinds at once, over each of TCP and TLS, and the kinds in each. */
const [MIXES, MIXED] = [2, 3];

/** Attacks a new service with a crowd of each kind, and with mixed ones. */
export async function withstandCrowds(seed: number, connections: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const isTls of [false, true]) {
    const all = crowdKinds(isTls);
    const random = new Random(seed);
    const mixes = Array.from({ length: MIXES }, () => random.sample(all, MIXED));
    for (const kinds of [...all.map((kind) => [kind]), ...mixes]) {
      const title = `${isTls ? 'TLS' : 'TCP'}: ${kinds.map(({ name }) => name).join(' + ')}`;
      const attack = { isTls, kinds, connections, seed: seed + outcomes.length };
      const outcome = await withstand(title, attack);
      console.log(cellsOf(outcome.row).join(' | '));
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

async function withstand(title: string, attack: Omit<Attack, 'port'>): Promise<Outcome> {
  const { isTls } = attack;
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
  const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
  const workerData = { ...attack, port: service.port };
  const crowd = new Worker(new URL('./crowd.js', import.meta.url), { workerData });
  let until = performance.now() + MAX_OPENING_MS + ATTACK_MS;
  let [most, opened] = [0, 0];
  crowd.on('message', (counts: [number, number]) => {
    const isFirst = opened < attack.connections;
    [most, opened] = counts;
    if (isFirst && opened >= attack.connections) until = performance.now() + ATTACK_MS;
  });
  let memory = 0;
  const watch = setInterval(() => {
    if (!service.exit) memory = Math.max(memory, residentMb(service.pid, 'VmHWM') || 0);
  }, 10);
  const took: number[] = [];
  const wrong: string[] = [];
  const create = async (firstId: bigint, kept?: Client): Promise<void> => {
    for (let id = firstId; !service.exit && performance.now() < until; id++) {
      const client = kept ?? service.client(1);
      const { kind, text = kind, took: ms } = await send(client, id);
      if (!kept) client.close();
      if (kind !== 'acknowledged') wrong.push(`${title}: a create got ${text}`);
      took.push(ms);
      await sleep(Math.max(0, CREATE_INTERVAL_MS - ms));
    }
  };
  await Promise.all([create(0n, service.client(1)), create(1_000_000n)]);
  clearInterval(watch);
  const { exit } = service;
  const end = exit ? (exit.signal ?? `exit ${exit.code}`) : 'alive';
  await crowd.terminate();
  await service.remove();

  const [failed, slowest] = [wrong.length, Math.max(...took)];
  if (slowest > MAX_CREATE_MS) wrong.unshift(`${title}: a create took ${number(slowest)} ms`);
  if (memory > MAX_RESIDENT_MB) wrong.unshift(`${title}: ${number(memory)} MiB of memory`);
  if (end !== 'alive') wrong.unshift(`${title}: the service ended by ${end}`);
  const row = {
    '': title,
    'connections at once': most,
    'in all': opened,
    'most memory, MiB': memory,
    'creates beside': took.length,
    'not 200': failed,
    'slowest, ms': slowest,
    service: end,
  };
  return { row, wrong };
}
