import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createSecret } from '../../src/auth/tokens/token.entity.js';
import { Random } from '../random.js';

/** As `npm start`, with the heap that V8 takes in 512 MiB (compose.yaml, deploy/kubernetes). */
export const NODE_OPTIONS = '--max-semi-space-size=16 --max-old-space-size=256';
/** The limit of the attacked service's memory in MiB. */
export const MAX_RESIDENT_MB = 400;

/** The acts of a client without a token. Texts are Latin-1: a character is a byte. */
export interface Kind {
  readonly name: string;
  /** Sent at once. */
  readonly sent: string;
  /** Sent twice a second after that. It also shows a client that does not read that its connection is closed. */
  readonly drip?: string;
  readonly isUnread?: boolean;
  /** Sends the same again as soon as it has an answer. */
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

/** Sends something at once, and then more of it slowly. */
const slow = (name: string, sent: string, drip: string): Kind => ({ name, sent, drip });

/** Sends a request many times, and does not read the answers. */
function pipeline(name: string, request: string, times = 16): Kind {
  return { name: `${name}, unread`, sent: request.repeat(times), drip: '\r\n', isUnread: true };
}

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
  {
    name: '401s, each as soon as the one before',
    sent: `${POST}content-length: 2\r\n\r\n{}`,
    isEager: true,
  },
  {
    name: 'docs pages in the same way',
    sent: get('/openapi.json').replace('GET', 'HEAD'),
    isEager: true,
  },
  slow('slow request line', `GET /${'a'.repeat(16_000)}`, 'a'),
];

/** The start of a ClientHello of the length of a TLS record. */
const CLIENT_HELLO = `\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03${'\0'.repeat(16_000)}`;
const HANDSHAKES: readonly Kind[] = [
  { name: 'nothing, not even TLS', sent: '', isBare: true },
  { name: 'slow handshake', sent: CLIENT_HELLO, drip: '\0', isBare: true },
  { name: 'a handshake alone', sent: '' },
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
  readonly seed: number;
}

/** Connections opened every TICK_MS: the first ones, and replacements of closed ones. */
const [TICK_MS, PER_TICK, REPLACED_PER_TICK] = [20, 40, 4];
/** The limit of all connections, closed ones included, as a multiple of those at once. */
const MAX_TIMES = 2;
const DRIP_INTERVAL_MS = 500;

/** Many clients without a token, of some kinds. */
export class Crowd {
  /** Connections so far. */
  opened = 0;
  /** The highest number at once. */
  most = 0;
  private readonly sockets = new Map<Socket, Buffer>();
  private readonly timers: readonly NodeJS.Timeout[];

  constructor({ port, isTls, kinds, connections, seed }: Attack) {
    const random = new Random(seed);
    // All clients of a kind send the same bytes.
    const choices = kinds.map(({ sent, drip = '', isUnread, isEager, isBare }) => {
      const [first, further] = [Buffer.from(sent, 'latin1'), Buffer.from(drip, 'latin1')];
      return { first, further, isUnread, isEager, speaksTls: isTls && !isBare };
    });
    const target = { port, host: '127.0.0.1', rejectUnauthorized: false, highWaterMark: 1 };
    const open = (): void => {
      const { first, further, isUnread, isEager, speaksTls } = random.pick(choices);
      const socket = speaksTls ? connectTls(target) : connect(target);
      this.opened += 1;
      this.sockets.set(socket, further);
      this.most = Math.max(this.most, this.sockets.size);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      if (isEager) socket.on('data', () => socket.write(first));
      else if (!isUnread) socket.resume();
      else if (!speaksTls) socket.once('connect', () => socket.pause());
      socket.write(first);
    };
    const fill = (): void => {
      const isFirst = this.opened < connections;
      for (let left = isFirst ? PER_TICK : REPLACED_PER_TICK; left > 0; left--) {
        const isFull = this.sockets.size >= connections || this.opened >= MAX_TIMES * connections;
        if (!isFull) open();
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
