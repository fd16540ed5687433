import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { residentMb } from '../../bench/machine.js';
import type { Cells } from '../../bench/markdown.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { plantOf, send } from '../plants.js';
import { crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS, type Attack, type Kind } from './crowd.js';

/** Connections of a crowd at once. */
const CONNECTIONS = 240;
/** Milliseconds of an attack with all connections, and of pause between two creates of a client. */
const [ATTACK_MS, CREATE_INTERVAL_MS] = [4_000, 250];

/** Attacks a new service with a crowd of each kind, and with one of all kinds, beside token holders. */
export async function withstandCrowds(): Promise<Cells[]> {
  const rows: Cells[] = [];
  for (const isTls of [false, true]) {
    const all = crowdKinds(isTls);
    for (const kind of all) rows.push(await withstand(isTls, [kind], kind.name));
    rows.push(await withstand(isTls, all, 'all at once'));
  }
  return rows;
}

/** @throws Error if the service ends, takes too much memory, or responds wrongly to a token holder */
async function withstand(isTls: boolean, kinds: readonly Kind[], name: string): Promise<Cells> {
  const title = `${isTls ? 'TLS' : 'TCP'}: ${name}`;
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS };
  const service = await ServiceProcess.start({ store: new SqliteStore(), isTls, env });
  const attack: Attack = { port: service.port, isTls, kinds, connections: CONNECTIONS };
  const crowd = new Worker(new URL('crowd.js', import.meta.url), { workerData: attack });
  let [opened, creates, acknowledged] = [0, 0, 0];
  crowd.on('message', (count: number) => (opened = count));
  /** A create may find no connection. */
  const create = async (client = service.client(1)): Promise<boolean> => {
    const { kind, text } = await send(client, plantOf(BigInt(creates++)));
    if (kind === 'wrong' || kind === 'refused') throw new Error(`${title}: a create got ${text}`);
    if (kind === 'acknowledged') acknowledged += 1;
    return kind === 'acknowledged';
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
  const { exit, output, pid } = service;
  if (exit)
    throw new Error(`${title}: the service ended by ${exit.signal ?? exit.code}: ${output}`);
  const row = { '': title, creates, acknowledged, 'peak, MiB': residentMb(pid, 'VmHWM') };
  if (!(await create())) throw new Error(`${title}: no create is accepted afterwards`);
  await service.remove();
  console.log(Object.values(row).join(' | '));
  if (row['peak, MiB'] > MAX_RESIDENT_MB) throw new Error(`${title}: too much memory`);
  return row;
}
