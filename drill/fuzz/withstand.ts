import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { residentMb } from '../../bench/machine.js';
import { number } from '../../bench/markdown.js';
import { certificateIn, issueCertificate } from '../../test/support/certificate.js';
import { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { hang } from '../load.js';
import { Random } from '../random.js';
import { crowdKinds, type Attack } from './crowd.js';
import type { Outcome } from './fuzzer.js';

/** As `npm start`; and the heap that V8 gives itself in 512 MiB (compose.yaml, deploy/kubernetes). */
const NODE_OPTIONS = '--max-semi-space-size=4 --max-old-space-size=256';
/** MiB of memory, and milliseconds of a create, that must not be exceeded. */
const [MAX_RESIDENT_MB, MAX_CREATE_MS] = [400, 1_000];
/** Milliseconds that an attack lasts once all its connections are opened, and that this takes at most. */
const [LASTS, OPENING] = [4_000, 8_000];
/** Milliseconds between two creates of a client, and after which one has hung. */
const [INTERVAL, HUNG] = [250, 20_000];
/** Attacks of several kinds at once, over each of TCP and TLS; and how many kinds. */
const [MIXES, MIXED] = [2, 3];

/** The head of a table of {@link withstandCrowds}. */
export const CROWD_HEAD = [
  ...['', 'connections at once', 'in all', 'most memory, MiB', 'creates beside', 'not 200'],
  ...['slowest, ms', 'service'],
];

/** Has a crowd of each kind, and of some at once, attack a service of its own. */
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
      console.log(outcome.row.join(' | '));
      outcomes.push(outcome);
    }
  }
  return outcomes;
}

async function withstand(title: string, attack: Omit<Attack, 'port'>): Promise<Outcome> {
  const { isTls } = attack;
  const store = new SqliteStore();
  if (isTls) await issueCertificate(store.folder, 'localhost');
  const tls = isTls ? certificateIn(store.folder) : {};
  const env = { LOG_LEVEL: 'info', LOG_REQUESTS: 'errors', NODE_OPTIONS, ...tls };
  const service = await ServiceProcess.start({ store, env });
  let ended: string | undefined;
  void service.exited.then(({ code, signal }) => (ended = signal ?? `exit ${code}`));

  const workerData = { ...attack, port: service.port };
  const crowd = new Worker(new URL('./crowd.js', import.meta.url), { workerData });
  let until = performance.now() + OPENING + LASTS;
  let [most, opened] = [0, 0];
  crowd.on('message', (counts: [number, number]) => {
    const isFirst = opened < attack.connections;
    [most, opened] = counts;
    if (isFirst && opened >= attack.connections) until = performance.now() + LASTS;
  });
  const isOver = (): boolean => ended !== undefined || performance.now() > until;
  let memory = 0;
  const watch = setInterval(() => {
    if (ended === undefined) memory = Math.max(memory, residentMb(service.pid, 'VmHWM') || 0);
  }, 10);
  const took: number[] = [];
  const wrong: string[] = [];
  /** Creates plants as an honest client does, on one connection or on a new one for each. */
  const create = async (firstId: bigint, keepsConnection: boolean): Promise<void> => {
    const connect = (): Client => new Client(service.port, service.token, 1, isTls);
    let client = connect();
    for (let id = firstId; !isOver(); id++) {
      const from = performance.now();
      try {
        const answer = await Promise.race([client.create({ id, name: 'n' }), hang(HUNG)]);
        if (answer.status !== 200) wrong.push(`${title}: ${answer.status} ${answer.text}`);
      } catch (error) {
        wrong.push(`${title}: ${String(error)}`);
      }
      const ms = performance.now() - from;
      took.push(ms);
      if (!keepsConnection) {
        client.close();
        client = connect();
      }
      await sleep(Math.max(0, INTERVAL - ms));
    }
    client.close();
  };
  await Promise.all([create(0n, true), create(1_000_000n, false)]);
  clearInterval(watch);
  const end = ended ?? 'alive';
  await crowd.terminate();
  await service.remove();

  const [failed, slowest] = [wrong.length, Math.max(...took)];
  if (slowest > MAX_CREATE_MS) wrong.unshift(`${title}: a create took ${number(slowest)} ms`);
  if (memory > MAX_RESIDENT_MB) wrong.unshift(`${title}: ${number(memory)} MiB of memory`);
  if (end !== 'alive') wrong.unshift(`${title}: the service ended by ${end}`);
  const figures = [most, opened, memory, took.length, failed, slowest].map((figure) =>
    number(figure),
  );
  return { row: [title, ...figures, end], wrong };
}
