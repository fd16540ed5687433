import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** What Node.js has no documented way for. Each function has a test that fails if Node.js changes what is behind it. */

/** The parser of a connection, which reads the connection's bytes by itself. */
interface Parser {
  /** The index of a function that is called after each read, with the bytes that were parsed or an error. */
  readonly constructor: { readonly kOnExecute: number };
  [index: number]: (result: unknown) => void;
  /** Called at the end of a request's head; the number that it returns tells the parser how to go on. */
  onIncoming: (request: IncomingMessage, shouldKeepAlive: boolean) => number;
}

/** Has the parser skip the rest of what was read: up to 64 KiB, which may be thousands of requests. */
const READ_NO_FURTHER = 2;

/**
 * Watches the parser of a connection.
 *
 * @param admits decides before each request whether it is parsed, with the rest of what was read. Node.js parses all that
 *   was read, as it does not limit pipelined requests (nodejs/node#50850); pausing the socket comes too late. Tested by
 *   "one connection has at most 16 requests in progress" in test/http/pipelining.e2e.spec.ts.
 * @param onRead is called after each read: up to 64 KiB, or a record of TLS. libuv reads a connection up to 32 times in a
 *   turn of the event loop while it brings that much; the function can pause the socket. A listener for `data` would take
 *   the connection from the parser, which costs each request. Tested by "endless blank lines" in
 *   test/http/hostile-clients.e2e.spec.ts.
 */
export function watchParser(socket: Socket, admits: () => boolean, onRead: () => void): void {
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  // A socket that is still negotiating TLS has none.
  if (!parser) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, shouldKeepAlive) =>
    admits() ? onIncoming(request, shouldKeepAlive) : READ_NO_FURTHER;
  const { kOnExecute } = parser.constructor;
  const onExecute = parser[kOnExecute];
  parser[kOnExecute] = (result) => {
    onExecute?.(result);
    onRead();
  };
}

/**
 * Stops reading a connection. pause() alone has no effect behind a resume() in the same tick: Node.js then reads a paused
 * socket. Its listener of this event stops that. Tested by "a client that ends is read no further" in
 * test/http/pipelining.e2e.spec.ts.
 */
export function stopReading(socket: Socket): void {
  if (socket.isPaused()) socket.emit('pause');
  else socket.pause();
}

/**
 * Lets a client that has sent its request close its side, and still read the response. Undocumented, but kept for others
 * that use it (nodejs/node#36819). Tested by "a client that closes its side after a request" in test/http/connections.e2e.spec.ts.
 */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}
