import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { newSecret } from '../../src/auth/token.entity.js';
import { Random } from '../random.js';

/** What a client without a token does with its connection. Texts are Latin-1: a character is a byte. */
export interface Kind {
  readonly name: string;
  /** What it sends at once. */
  readonly sent: string;
  /** What it then sends twice a second; one that reads nothing learns by this that its connection is closed. */
  readonly drip?: string;
  readonly isUnread?: boolean;
  /** Whether it speaks no TLS, though the service does. */
  readonly isBare?: boolean;
}

const BUNDLE = '/docs/swagger-ui-bundle.js';
const POST = 'POST /plants HTTP/1.1\r\nhost: a\r\n';
const WITH_BODY = 'content-type: application/json\r\ncontent-length: 65536\r\n';
const BODY = 'x'.repeat(65_000);
/** Three bytes by Node's count, which allows a request 16 KiB of them. */
const SHORT = 'ab:c\r\n';

const get = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;

/** The same request many times on each connection; the answers are not read. */
function pipeline(name: string, request: string, times = 16): Kind {
  return { name: `${name}, unread`, sent: request.repeat(times), drip: '\r\n', isUnread: true };
}

const REQUESTS: readonly Kind[] = [
  {
    name: '5,400 headers, then no body',
    sent: `${POST}${WITH_BODY}${SHORT.repeat(5_380)}\r\n`,
    drip: 'x',
  },
  { name: '2,600 headers without an end', sent: `${POST}${SHORT.repeat(2_600)}`, drip: SHORT },
  {
    name: '16,000 empty headers without an end',
    sent: `${POST}${'a:\r\n'.repeat(16_000)}`,
    drip: 'a:\r\n',
  },
  pipeline('16 docs pages, 2,600 headers each', get(BUNDLE, SHORT.repeat(2_600))),
  pipeline('16 docs pages', get(BUNDLE)),
  pipeline('16 404s, 100 long headers each', get('/', `a: ${'b'.repeat(155)}\r\n`.repeat(100))),
  pipeline('16 404s of long paths', get(`/${'a'.repeat(16_000)}`)),
  pipeline('2,000 401s', `${POST}\r\n`, 2_000),
  {
    name: 'slow body, forged token',
    sent: `${POST}authorization: Bearer ${newSecret()}\r\n${WITH_BODY}\r\n${BODY}`,
    drip: 'x',
  },
  {
    name: 'Expect: 100-continue',
    sent: `${POST}expect: 100-continue\r\n${WITH_BODY}\r\n`,
    drip: 'x',
  },
  {
    name: 'chunks of a byte',
    sent: `${POST}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(250)}`,
    drip: '1\r\nx\r\n',
  },
  { name: 'slow request line', sent: `GET /${'a'.repeat(16_000)}`, drip: 'a' },
];

/** The start of a ClientHello as long as a record of TLS may be. */
const CLIENT_HELLO = `\x16\x03\x01\x3f\xff\x01\x00\x3f\xfb\x03\x03${'\0'.repeat(16_000)}`;
const HANDSHAKES: readonly Kind[] = [
  { name: 'nothing, not even TLS', sent: '', isBare: true },
  { name: 'slow handshake', sent: CLIENT_HELLO, drip: '\0', isBare: true },
  { name: 'a handshake alone', sent: '' },
];

/** @param isTls whether the service speaks TLS */
export function crowdKinds(isTls: boolean): readonly Kind[] {
  return isTls ? [...REQUESTS, ...HANDSHAKES] : REQUESTS;
}

/** What a crowd does, and to whom. */
export interface Attack {
  readonly port: number;
  readonly isTls: boolean;
  readonly kinds: readonly Kind[];
  readonly connections: number;
  readonly seed: number;
}

/** Connections that are opened each TICK milliseconds: the first ones, and those in the place of closed ones. */
const [TICK, PER_TICK, AGAIN_PER_TICK] = [20, 40, 4];
/** All connections that are opened, closed ones included, are so many times those at once. */
const MAX_TIMES = 2;
const DRIP_INTERVAL = 500;

/** Many clients without a token, each of one of some kinds. */
export class Crowd {
  /** Connections so far. */
  opened = 0;
  /** The most of them at once. */
  most = 0;
  private readonly sockets = new Map<Socket, Buffer>();
  private readonly timers: readonly NodeJS.Timeout[];

  constructor({ port, isTls, kinds, connections, seed }: Attack) {
    const random = new Random(seed);
    // All of a kind send the same bytes.
    const choices = kinds.map(({ sent, drip = '', isUnread, isBare }) => {
      const [first, further] = [Buffer.from(sent, 'latin1'), Buffer.from(drip, 'latin1')];
      return { first, further, isUnread, speaksTls: isTls && !isBare };
    });
    const target = { port, host: '127.0.0.1', rejectUnauthorized: false, highWaterMark: 1 };
    const open = (): void => {
      const { first, further, isUnread, speaksTls } = random.pick(choices);
      const socket = speaksTls ? connectTls(target) : connect(target);
      this.opened += 1;
      this.sockets.set(socket, further);
      this.most = Math.max(this.most, this.sockets.size);
      socket.on('error', () => undefined).on('close', () => this.sockets.delete(socket));
      if (!isUnread) socket.resume();
      else if (!speaksTls) socket.once('connect', () => socket.pause());
      socket.write(first);
    };
    const fill = (): void => {
      const isFirst = this.opened < connections;
      for (let left = isFirst ? PER_TICK : AGAIN_PER_TICK; left > 0; left--) {
        const isFull = this.sockets.size >= connections || this.opened >= MAX_TIMES * connections;
        if (!isFull) open();
      }
    };
    const drip = (): void => {
      for (const [socket, bytes] of this.sockets) {
        if (socket.writableLength === 0) socket.write(bytes);
      }
    };
    this.timers = [setInterval(fill, TICK), setInterval(drip, DRIP_INTERVAL)];
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
    for (const socket of this.sockets.keys()) socket.destroy();
  }
}

// In a thread of its own it does not keep honest clients waiting.
if (!isMainThread) {
  const crowd = new Crowd(workerData as Attack);
  setInterval(() => parentPort?.postMessage([crowd.most, crowd.opened]), TICK);
}
