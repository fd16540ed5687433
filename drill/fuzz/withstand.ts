import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { residentMb } from '../../bench/machine.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { plantOf, send } from '../plants.js';
import { crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS, type Attack, type Kind } from './crowd.js';

/** Connections of a crowd at once. */
const CONNECTIONS = 1_000;
/** Milliseconds of an attack with all connections, and of pause between two creates of a client. */
const [ATTACK_MS, CREATE_INTERVAL_MS] = [4_000, 250];

/** Attacks a new service with a crowd of each kind, and with one of all kinds, beside token holders. */
export async function withstandCrowds() {
  const results: Awaited<ReturnType<typeof withstand>>[] = [];
  for (const isTls of [false, true]) {
    const all = crowdKinds(isTls);
    for (const kind of all) results.push(await withstand(isTls, [kind], kind.name));
    results.push(await withstand(isTls, all, 'all at once'));
  }
  return results;
}

async function withstand(isTls: boolean, kinds: readonly Kind[], name: string) {
  const title = `${isTls ? 'TLS' : 'TCP'}: ${name}`;
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
  const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
  const attack: Attack = { port: service.port, isTls, kinds, connections: CONNECTIONS };
  const crowd = new Worker(new URL('crowd.js', import.meta.url), { workerData: attack });
  let opened = 0;
  crowd.on('message', (count: number) => (opened = count));
  const counts = { acknowledged: 0, taken: 0, refused: 0, unknown: 0, unreachable: 0, wrong: 0 };
  const wrong: string[] = [];
  let id = 0n;
  const create = async (client = service.client(1)): Promise<void> => {
    const { kind, text } = await send(client, plantOf(id++));
    counts[kind] += 1;
    if (kind === 'wrong' || kind === 'refused') wrong.push(`${title}: a create got ${text}`);
  };
  const kept = service.client(1);
  let until = Infinity;
  while (!service.exit && performance.now() < until) {
    if (opened < CONNECTIONS) until = performance.now() + ATTACK_MS;
    const other = service.client(1);
    await Promise.all([create(kept), create(other), sleep(CREATE_INTERVAL_MS)]);
    other.close();
  }
  await crowd.terminate();
  const memory = service.exit ? NaN : residentMb(service.pid, 'VmHWM');
  const before = counts.acknowledged;
  await create();
  const { exit } = service;
  await service.remove();

  if (counts.acknowledged === before) wrong.push(`${title}: no create is accepted afterwards`);
  if (memory > MAX_RESIDENT_MB) wrong.push(`${title}: ${Math.round(memory)} MiB of memory`);
  if (exit) wrong.push(`${title}: the service ended by ${exit.signal ?? `exit ${exit.code}`}`);
  const row = {
    '': title,
    'connections in all': opened,
    'most memory, MiB': memory,
    'creates beside': counts.acknowledged,
    'not connected': counts.unreachable + counts.unknown,
    wrong: wrong.length,
  };
  console.log(Object.values(row).join(' | '));
  return { row, wrong };
}
