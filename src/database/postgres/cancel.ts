import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Session } from './driver.js';

/** How long a server may take to accept a request to cancel a statement. */
const CANCEL_TIMEOUT_MS = 1_000;

/** Codes of requests (postgresql.org/docs/current/protocol-message-formats.html). */
const CANCEL_REQUEST = 80_877_102;
const SSL_REQUEST = 80_877_103;
const SSL_ACCEPTED = 'S';

/**
 * Cancels the statement of a session by the protocol's own request, which needs no session and which poolers pass on;
 * encrypted if the session is. What the statement wrote may be committed all the same.
 *
 * @throws Error if the server does not take the request in time
 */
export async function cancelStatement(session: Session): Promise<void> {
  const { processID, secretKey, host, port } = session;
  // A pooler may give no key to cancel by.
  if (!processID) throw new Error('the session has no key');
  // The address of the session's own server: a name may have several.
  const { remoteAddress, remotePort = 0 } = session.connection.stream;
  const address = remoteAddress
    ? { host: remoteAddress, port: remotePort }
    : { path: `${host}/.s.PGSQL.${port}` };
  const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
  const socket = connect({ ...address, signal });
  const request = session.ssl ? await encrypt(socket, session, signal) : socket;
  // Not end(): PgBouncer ends with a fatal error if a client closes its side now (pgbouncer/pgbouncer#801).
  request.resume().write(encode(CANCEL_REQUEST, processID, secretKey));
  await once(request, 'close');
}

async function encrypt(
  socket: Socket,
  { host, ssl }: Session,
  signal: AbortSignal,
): Promise<Socket> {
  socket.write(encode(SSL_REQUEST));
  // A proxy may close the connection without a response.
  const [response] = (await once(socket, 'data', { signal })) as [Buffer];
  if (response.toString() !== SSL_ACCEPTED) throw new Error('the server refused TLS');
  const options = typeof ssl === 'object' ? ssl : {};
  const encrypted = connectTls({
    ...options,
    // The driver's `key` is not enumerable, so the spread lacks it.
    ...(options.key && { key: options.key }),
    socket,
    host,
    // The certificate is for the name.
    ...(isIP(host) === 0 && { servername: host }),
  });
  await once(encrypted, 'secureConnect');
  return encrypted;
}

/** Encodes a request of integers of 32 bits, its length first. */
function encode(...integers: readonly number[]): Buffer {
  const request = Buffer.alloc(4 * (integers.length + 1));
  for (const [i, integer] of [request.length, ...integers].entries())
    request.writeInt32BE(integer, 4 * i);
  return request;
}
