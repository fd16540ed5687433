import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { residentMb } from '../../bench/machine.js';
import type { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { send } from '../load.js';
import { crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS, type Attack } from './crowd.js';

/** Milliseconds of pause between two creates of a client. */
const CREATE_INTERVAL_MS = 250;
/** Milliseconds of an attack after all its connections are open, and the longest wait for that. */
const [ATTACK_MS, MAX_OPENING_MS] = [4_000, 8_000];
/** Attacks of several kinds at once, over each of TCP and TLS, and the kinds in each. */
const [MIXES, MIXED] = [2, 3];

/** Attacks a new service with a crowd of each kind, and with mixed ones, beside a token holder. */
export async function withstandCrowds(seed: number, connections: number) {
  const results: Awaited<ReturnType<typeof withstand>>[] = [];
  for (const isTls of [false, true]) {
    const all = crowdKinds(isTls);
    const some = fc.shuffledSubarray([...all], { minLength: MIXED, maxLength: MIXED });
    const mixes = fc.sample(some, { seed, numRuns: MIXES });
    for (const kinds of [...all.map((kind) => [kind]), ...mixes]) {
      const result = await withstand({ isTls, kinds, connections });
      console.log(Object.values(result.row).join(' | '));
      results.push(result);
    }
  }
  return results;
}

async function withstand(attack: Omit<Attack, 'port'>) {
  const { isTls, kinds, connections } = attack;
  const title = `${isTls ? 'TLS' : 'TCP'}: ${kinds.map(({ name }) => name).join(' + ')}`;
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
  const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
  const crowd = new Worker(new URL('crowd.js', import.meta.url), {
    workerData: { ...attack, port: service.port },
  });
  let until = performance.now() + MAX_OPENING_MS + ATTACK_MS;
  let [most, opened, memory] = [0, 0, 0];
  crowd.on('message', (counts: [number, number]) => {
    if (opened < connections && counts[1] >= connections) until = performance.now() + ATTACK_MS;
    [most, opened] = counts;
    if (!service.exit) memory = residentMb(service.pid, 'VmHWM') || memory;
  });
  const counts = { acknowledged: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
  const wrong: string[] = [];
  const createOne = async (client: Client, id: bigint): Promise<void> => {
    const { kind, text } = await send(client, id);
    counts[kind] += 1;
    if (kind === 'wrong' || kind === 'refused') wrong.push(`${title}: a create got ${text}`);
  };
  const create = async (firstId: bigint, kept?: Client): Promise<void> => {
    for (let id = firstId; !service.exit && performance.now() < until; id++) {
      const client = kept ?? service.client(1);
      await createOne(client, id);
      if (!kept) client.close();
      await sleep(CREATE_INTERVAL_MS);
    }
  };
  await Promise.all([create(0n, service.client(1)), create(1_000_000n)]);
  await crowd.terminate();
  const before = counts.acknowledged;
  await createOne(service.client(1), 2_000_000n);
  const { exit } = service;
  await service.remove();

  if (counts.acknowledged === before) wrong.push(`${title}: no create is accepted afterwards`);
  if (memory > MAX_RESIDENT_MB) wrong.push(`${title}: ${Math.round(memory)} MiB of memory`);
  if (exit) wrong.push(`${title}: the service ended by ${exit.signal ?? `exit ${exit.code}`}`);
  const row = {
    '': title,
    'connections at once': most,
    'in all': opened,
    'most memory, MiB': memory,
    'creates beside': counts.acknowledged,
    'not connected': counts.unreachable + counts.unknown,
    wrong: wrong.length,
    service: exit ? 'ended' : 'alive',
  };
  return { row, wrong };
}
