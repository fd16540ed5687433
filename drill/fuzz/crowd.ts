import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { CLIENT_HELLO } from './parts.js';
import { wrap } from './play.js';

/** The heap that V8 takes in 512 MiB (compose.yaml, deploy/kubernetes). */
export const NODE_OPTIONS = '--max-old-space-size=256';
/** The limit of the attacked service's memory in MiB. */
export const MAX_RESIDENT_MB = 400;

/** The acts of a client without a token. Texts are Latin-1: a character is a byte. */
export interface Kind {
  readonly name: string;
  /** Sent at once. */
  readonly sent: string;
  /** Sent twice a second after that. It also shows a client that does not read that its connection is closed. */
  readonly drip: string;
  /**
   * It does not read; sends the same again as soon as it has a response; resets the connection as soon as the request
   * is sent; or speaks no TLS, even if the service does.
   */
  readonly act?: 'unread' | 'eager' | 'reset' | 'bare';
}

const POST = 'POST /plants HTTP/1.1\r\nhost: a\r\n';
const WITH_BODY = 'content-type: application/json\r\ncontent-length: 65536\r\n';
const FORGED_TOKEN = `authorization: Bearer ${createSecret()}\r\n`;
const FORGED = FORGED_TOKEN + WITH_BODY;
/** Three bytes by Node's count, which limits a request's head to 16 KiB of them. */
const SHORT = 'ab:c\r\n';
/** A body of which each byte is a chunk, and takes Node some 300 bytes. */
const CHUNKS = `transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10_000)}`;
const PAGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: a\r\n';
const page = (headers = ''): string => `${PAGE}${headers}\r\n`;

const BEHIND = `${POST}${CHUNKS}0\r\n\r\n`;

const kind = (name: string, sent: string, drip = '', act?: Kind['act']): Kind => ({
  name,
  sent,
  drip,
  ...(act && { act }),
});
/** Sends a request as often as one connection may, and does not read the responses. */
const unread = (name: string, request: string) =>
  kind(`${name}, unread`, request.repeat(MAX_PIPELINED), '\r\n', 'unread');

const REQUESTS: readonly Kind[] = [
  kind('garbage', '\x80'.repeat(1_000), '\x80'),
  kind('half a request line', `GET /${'a'.repeat(16_000)}`, 'a'),
  kind('2,600 headers without an end', `${POST}${SHORT.repeat(2_600)}`, SHORT),
  kind('5,400 headers, then no body', `${POST}${WITH_BODY}${SHORT.repeat(5_380)}\r\n`, 'x'),
  kind('half a body, forged token', `${POST}${FORGED}\r\n${'x'.repeat(32_000)}`, 'x'),
  kind('a body of tiny chunks, forged token', `${POST}${FORGED_TOKEN}${CHUNKS}`, '1\r\nx\r\n'),
  unread('docs pages', page()),
  unread('docs pages, 2,600 headers each', page(SHORT.repeat(2_600))),
  unread('documents', page().replace('/docs/swagger-ui-bundle.js', '/openapi.json')),
  kind('docs page with tiny chunks, unread', PAGE + CHUNKS, '1\r\nx\r\n', 'unread'),
  kind(
    'tiny chunks behind an unread page',
    page() + BEHIND.repeat(MAX_PIPELINED - 1),
    '\r\n',
    'unread',
  ),
  unread('404s of long paths', page().replace('/docs', `/${'a'.repeat(16_000)}`)),
  kind('3,000 requests behind it', page() + 'GET / HTTP/1.1\r\n\r\n'.repeat(3_000), '', 'unread'),
  kind('resets', page(), '', 'reset'),
  kind('CONNECT', 'CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n', 'x'),
  kind('401s, each as soon as the last', `${POST}content-length: 2\r\n\r\n{}`, '', 'eager'),
];

const HANDSHAKES: readonly Kind[] = [
  kind('nothing, not even TLS', '', '', 'bare'),
  kind('half a handshake', CLIENT_HELLO, '\0', 'bare'),
  kind('a handshake alone', ''),
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
const ignore = (): void => undefined;

/** Many clients without a token, as many of each kind. */
export class Crowd {
  /** Connections so far. */
  opened = 0;
  private readonly sockets = new Map<Socket, string>();
  private readonly timers: readonly NodeJS.Timeout[];

  constructor({ port, isTls, kinds, connections }: Attack) {
    const slow = { host: '127.0.0.1', port, rejectUnauthorized: false, highWaterMark: 1 };
    const open = ({ sent, drip, act }: Kind): void => {
      const tcp = connect(slow).on('error', ignore);
      const speaksTls = isTls && act !== 'bare';
      const under = act === 'reset' ? wrap(tcp) : tcp;
      const socket = speaksTls ? connectTls({ ...slow, socket: under }).on('error', ignore) : tcp;
      this.opened += 1;
      this.sockets.set(socket, drip);
      tcp.on('close', () => this.sockets.delete(socket));
      if (act === 'eager') socket.on('data', () => socket.write(sent, 'latin1'));
      else if (act !== 'unread') socket.resume();
      else if (!speaksTls) socket.once('connect', () => socket.pause());
      socket.write(sent, 'latin1', () => act === 'reset' && tcp.resetAndDestroy());
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
      for (const [socket, text] of this.sockets) {
        if (socket.writableLength === 0) socket.write(text, 'latin1');
      }
    };
    this.timers = [setInterval(fill, TICK_MS), setInterval(drip, DRIP_INTERVAL_MS)];
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
    for (const socket of this.sockets.keys()) socket.destroy();
  }
}

// A separate thread does not slow down honest clients. Its end closes the connections.
if (!isMainThread) {
  const crowd = new Crowd(workerData as Attack);
  setInterval(() => parentPort?.postMessage(crowd.opened), TICK_MS);
}
