import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { ERRORS } from '../../src/errors/error-codes.js';
import { parseHead } from '../../test/support/raw-connection.js';
import { conforms } from '../../test/support/received.js';
import type { Script } from './raw-requests.js';

/** Milliseconds after which an open connection hangs. */
const CONNECTION_TIMEOUT_MS = 60_000;
/** Statuses of the document and its page, and of what a client can cause. */
const [STATIC, REFUSALS] = [
  [200, 302, 304],
  [400, 401, 404, 405, 501],
];

const ignore = (): void => undefined;

/**
 * Plays a script on its own connection.
 *
 * @returns the bytes that were read
 * @throws Error if the connection hangs
 */
export async function play(script: Script, port: number): Promise<Buffer> {
  const { tls, steps, end, idle, isRead, isHasty } = script;
  const tcp = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', ignore);
  const hang = new Error('the connection hung');
  const hung = setTimeout(() => tcp.destroy(hang), CONNECTION_TIMEOUT_MS);
  const closed = new Promise((resolve) => tcp.once('close', resolve));
  const options = { rejectUnauthorized: false, ...(tls && { maxVersion: tls }) };
  const under = end === 'reset' ? wrap(tcp) : tcp;
  const socket = tls ? connectTls({ socket: under, ...options }).on('error', ignore) : tcp;
  const received: Buffer[] = [];
  if (isRead) socket.on('data', (chunk: Buffer) => received.push(chunk));
  const secured = tls && once(socket, 'secureConnect').catch(ignore);
  await once(tcp, 'connect');
  if (!isHasty) await Promise.race([secured, closed]);
  await send(socket, steps);
  const finish = () => (end === 'reset' ? tcp.resetAndDestroy() : tcp.destroy());
  if (end === 'fin') socket.end();
  if (idle === 0) finish();
  else socket.setTimeout(idle, finish);
  await closed;
  clearTimeout(hung);
  socket.destroy();
  if (tcp.errored === hang) throw hang;
  return Buffer.concat(received);
}

async function send(socket: Socket, steps: Script['steps']): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (typeof step === 'number') await sleep(step);
    else socket.write(step, 'latin1');
  }
}

/**
 * A stream for TLS whose connection is to be reset, which Node could not do on the socket itself any more. No other
 * connection may have it: an assertion of Node's ends the process if TLS writes after its end.
 */
export function wrap(tcp: Socket): Duplex {
  const [inside, outside] = duplexPair();
  tcp.pipe(outside).pipe(tcp);
  return inside;
}

/**
 * Checks everything received on a connection against the interface.
 *
 * @returns the number of complete responses
 * @throws Error that says what is wrong
 */
export function judge({ expected }: Script, received: Buffer): number {
  const statuses = Array.from(responsesIn(received), ({ status, headers, text }) => {
    if (STATIC.includes(status)) return status;
    const isOverload = text?.includes(`"error":${ERRORS.OVERLOADED.error},`);
    if (!isOverload && !REFUSALS.includes(status)) throw new Error(`got ${status} ${text}`);
    // Unknown paths and methods get 404 and 405. A response to HEAD has no body.
    const path = [404, 405].includes(status) ? '/' : '/plants';
    const method = text === undefined ? 'HEAD' : 'POST';
    conforms({ method, path, status, headers: new Headers(headers), text: text ?? '' });
    return status;
  });
  for (const [i, wanted] of expected.entries()) {
    const status = statuses[i];
    if (status !== wanted && status !== ERRORS.OVERLOADED.status)
      throw new Error(`response ${i} is ${status} and not ${wanted}`);
  }
  return statuses.length;
}

/** The complete responses on a connection. Those to HEAD have no body despite their length. */
function* responsesIn(received: Buffer) {
  for (let at = 0; at < received.length;) {
    const response = readResponse(received, at);
    if (!response) return;
    if (response.status >= 200) yield response;
    at = response.end;
  }
}

/** The response that begins here, and where it ends; undefined if it is not complete. */
function readResponse(received: Buffer, at: number) {
  const headEnd = received.indexOf('\r\n\r\n', at);
  const head = received.toString('latin1', at, headEnd < 0 ? received.length : headEnd);
  if (!'HTTP/1.1 '.startsWith(head.slice(0, 9))) throw new Error(`not HTTP: ${head.slice(0, 200)}`);
  if (headEnd < 0) return undefined;
  const { status, headers } = parseHead(head);
  const usual = status < 200 || status === 304 ? 0 : NaN;
  const length = Number(headers['content-length'] ?? usual);
  if (Number.isNaN(length)) throw new Error(`no length: ${head}`);
  const start = headEnd + 4;
  const isBare = length > 0 && received.toString('latin1', start, start + 9) === 'HTTP/1.1 ';
  const end = isBare ? start : start + length;
  if (end > received.length) return undefined;
  const text = isBare ? undefined : received.toString('utf8', start, end);
  return { status, headers, text, end };
}
