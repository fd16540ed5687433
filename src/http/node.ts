import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** What Node.js has no documented way for. Each function has a test that fails if Node.js changes what is behind it. */

/** The parser of a connection. */
interface Parser {
  /** Called at the end of a request's head; the number that it returns tells the parser how to go on. */
  onIncoming: (request: IncomingMessage, shouldKeepAlive: boolean) => number;
}

/** Has the parser skip the rest of what was read: up to 64 KiB, which may be thousands of requests. */
const READ_NO_FURTHER = 2;

/**
 * Has a function decide before each request of a connection whether it is parsed, with the rest of what was read. Node.js
 * parses all that was read, as it does not limit pipelined requests (nodejs/node#50850); pausing the socket comes too
 * late. Tested by "one connection has at most 16 requests in progress" in
 * test/http/hostile-clients.e2e.spec.ts.
 */
export function admitRequests(socket: Socket, admits: () => boolean): void {
  // A socket that is still negotiating TLS has no parser.
  const { parser } = socket as Socket & { readonly parser?: Parser | null };
  if (!parser) return;
  const { onIncoming } = parser;
  parser.onIncoming = (request, shouldKeepAlive) =>
    admits() ? onIncoming(request, shouldKeepAlive) : READ_NO_FURTHER;
}

/**
 * Lets a client that has sent its request close its side, and still read the response. Undocumented, but kept for others
 * that use it (nodejs/node#36819). Tested by "a client that closes its side after a request" in test/http/http-faults.e2e.spec.ts.
 */
export function allowHalfOpen(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true });
}
