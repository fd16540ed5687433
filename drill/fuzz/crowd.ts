import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { residentMb } from '../../bench/machine.js';
import { number } from '../../bench/markdown.js';
import { createSecret } from '../../src/auth/tokens/token.entity.js';
import type { Client } from '../../test/support/client.js';
import { ServiceProcess } from '../../test/support/service-process.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { send } from '../load.js';

/** As `npm start`, with the heap that V8 takes in 512 MiB (compose.yaml, deploy/kubernetes). */
export const NODE_OPTIONS = '--max-semi-space-size=16 --max-old-space-size=256';
/** The limit of the attacked service's memory in MiB. */
export const MAX_RESIDENT_MB = 400;

/** The acts of a client without a token. */
export interface Kind {
  readonly name: string;
  /** Sent at once. */
  readonly sent: Uint8Array;
  /** Sent twice a second after that. It also shows a client that does not read that its connection is closed. */
  readonly drip: Uint8Array;
  readonly isUnread?: boolean;
  /** Sends the same again as soon as it has a response. */
  readonly isEager?: boolean;
  /** Without TLS, even if the service uses it. */
  readonly isBare?: boolean;
}

const BUNDLE = '/docs/swagger-ui-bundle.js';
const POST = 'POST /plants HTTP/1.1\r\nhost: a\r\n';
const WITH_BODY = 'content-type: application/json\r\ncontent-length: 65536\r\n';
/** Three bytes by Node's count, which limits a request's head to 16 KiB of them. */
const SHORT = 'ab:c\r\n';

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;

/** Sends something at once, and then more of it slowly. Texts are Latin-1: a character is a byte. */
function slow(name: string, sent: string, drip: string, acts: Partial<Kind> = {}): Kind {
  return { name, sent: Buffer.from(sent, 'latin1'), drip: Buffer.from(drip, 'latin1'), ...acts };
}

const eager = (name: string, sent: string) => slow(name, sent, '', { isEager: true });
/** Sends a request many times, and does not read the responses. */
const pipeline = (name: string, request: string, times = 16) =>
  slow(`${name}, unread`, request.repeat(times), '\r\n', { isUnread: true });

const FORGED = `authorization: Bearer ${createSecret()}\r\n`;
const CHUNK = '1\r\nx\r\n';
const REQUESTS: readonly Kind[] = [
  slow('5,400 headers, then no body', `${POST}${WITH_BODY}${SHORT.repeat(5_380)}\r\n`, 'x'),
  slow('2,600 headers without an end', `${POST}${SHORT.repeat(2_600)}`, SHORT),
  slow('16,000 empty headers without an end', `${POST}${'a:\r\n'.repeat(16_000)}`, 'a:\r\n'),
  pipeline('16 docs pages, 2,600 headers each', get(BUNDLE, SHORT.repeat(2_600))),
  pipeline('16 docs pages', get(BUNDLE)),
  pipeline('16 404s, 100 long headers each', get('/', `a: ${'b'.repeat(155)}\r\n`.repeat(100))),
  pipeline('16 404s of long paths', get(`/${'a'.repeat(16_000)}`)),
  pipeline('2,000 401s', `${POST}\r\n`, 2_000),
  slow('slow body, forged token', `${POST}${FORGED}${WITH_BODY}\r\n${'x'.repeat(65_000)}`, 'x'),
  slow('Expect: 100-continue', `${POST}expect: 100-continue\r\n${WITH_BODY}\r\n`, 'x'),
  slow('chunks of a byte', `${POST}transfer-encoding: chunked\r\n\r\n${CHUNK.repeat(250)}`, CHUNK),
  eager('401s, each as soon as the one before', `${POST}content-length: 2\r\n\r\n{}`),
  eager('docs pages in the same way', get('/openapi.json').replace('GET', 'HEAD')),
  slow('slow request line', `GET /${'a'.repeat(16_000)}`, 'a'),
];

/** The start of a ClientHello of the length of a TLS record. */
const CLIENT_HELLO = `\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03${'\0'.repeat(16_000)}`;
const HANDSHAKES: readonly Kind[] = [
  slow('nothing, not even TLS', '', '', { isBare: true }),
  slow('slow handshake', CLIENT_HELLO, '\0', { isBare: true }),
  slow('a handshake alone', '', ''),
];

/** @param isTls whether the service uses TLS */
export function crowdKinds(isTls: boolean): readonly Kind[] {
  return isTls ? [...REQUESTS, ...HANDSHAKES] : REQUESTS;
}

/** The target, size and acts of a crowd. */
export interface Attack {
  readonly port: number;
  readonly isTls: boolean;
  readonly kinds: readonly Kind[];
  readonly connections: number;
}

/** Connections opened every TICK_MS: the first ones, and replacements of closed ones. */
const [TICK_MS, PER_TICK, REPLACED_PER_TICK] = [20, 40, 4];
/** The limit of all connections, closed ones included, as a multiple of those at once. */
const MAX_TIMES = 2;
const DRIP_INTERVAL_MS = 500;

/** Many clients without a token, as many of each kind. */
export class Crowd {
  /** Connections so far. */
  opened = 0;
  /** The highest number at once. */
  most = 0;
  private readonly sockets = new Map<Socket, Uint8Array>();
  private readonly timers: readonly NodeJS.Timeout[];

  constructor({ port, isTls, kinds, connections }: Attack) {
    const target = { port, host: '127.0.0.1', rejectUnauthorized: false, highWaterMark: 1 };
    const open = ({ sent, drip, isUnread, isEager, isBare }: Kind): void => {
      const speaksTls = isTls && !isBare;
      const socket = speaksTls ? connectTls(target) : connect(target);
      this.opened += 1;
      this.sockets.set(socket, drip);
      this.most = Math.max(this.most, this.sockets.size);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      if (isEager) socket.on('data', () => socket.write(sent));
      else if (!isUnread) socket.resume();
      else if (!speaksTls) socket.once('connect', () => socket.pause());
      socket.write(sent);
    };
    const fill = (): void => {
      const perTick = this.opened < connections ? PER_TICK : REPLACED_PER_TICK;
      for (let i = 0; i < perTick; i++) {
        const isFull = this.sockets.size >= connections || this.opened >= MAX_TIMES * connections;
        const kind = kinds[this.opened % kinds.length];
        if (kind && !isFull) open(kind);
      }
    };
    const drip = (): void => {
      for (const [socket, bytes] of this.sockets) {
        if (socket.writableLength === 0) socket.write(bytes);
      }
    };
    this.timers = [setInterval(fill, TICK_MS), setInterval(drip, DRIP_INTERVAL_MS)];
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
    for (const socket of this.sockets.keys()) socket.destroy();
  }
}

// A separate thread does not slow down honest clients.
if (!isMainThread) {
  const crowd = new Crowd(workerData as Attack);
  setInterval(() => parentPort?.postMessage([crowd.most, crowd.opened]), TICK_MS);
}

/** The limit of a create in milliseconds, and the pause between two creates of a client. */
const [MAX_CREATE_MS, CREATE_INTERVAL_MS] = [1_000, 250];
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
  const crowd = new Worker(import.meta.filename, { workerData: { ...attack, port: service.port } });
  let until = performance.now() + MAX_OPENING_MS + ATTACK_MS;
  let [most, opened, memory] = [0, 0, 0];
  crowd.on('message', (counts: [number, number]) => {
    if (opened < connections && counts[1] >= connections) until = performance.now() + ATTACK_MS;
    [most, opened] = counts;
    if (!service.exit) memory = residentMb(service.pid, 'VmHWM') || memory;
  });
  const took: number[] = [];
  const wrong: string[] = [];
  const create = async (firstId: bigint, kept?: Client): Promise<void> => {
    for (let id = firstId; !service.exit && performance.now() < until; id++) {
      const client = kept ?? service.client(1);
      const { kind, text, took: ms } = await send(client, id);
      if (!kept) client.close();
      if (kind !== 'acknowledged') wrong.push(`${title}: a create got ${text}`);
      took.push(ms);
      await sleep(Math.max(0, CREATE_INTERVAL_MS - ms));
    }
  };
  await Promise.all([create(0n, service.client(1)), create(1_000_000n)]);
  const { exit } = service;
  await crowd.terminate();
  await service.remove();

  const [failed, slowest] = [wrong.length, Math.max(...took)];
  if (slowest > MAX_CREATE_MS) wrong.push(`${title}: a create took ${number(slowest)} ms`);
  if (memory > MAX_RESIDENT_MB) wrong.push(`${title}: ${number(memory)} MiB of memory`);
  if (exit) wrong.push(`${title}: the service ended by ${exit.signal ?? `exit ${exit.code}`}`);
  const row = {
    '': title,
    'connections at once': most,
    'in all': opened,
    'most memory, MiB': memory,
    'creates beside': took.length,
    'not 200': failed,
    'slowest, ms': slowest,
    service: exit ? 'ended' : 'alive',
  };
  return { row, wrong };
}
