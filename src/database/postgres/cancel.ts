import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { Client } from 'pg';

/** Of connecting, TLS and the request each. A lost packet is sent again after 1 s. */
const STEP_TIMEOUT_MS = 2_000;

/** Codes of messages (postgresql.org/docs/current/protocol-message-formats.html). */
const SSL_REQUEST = 80_877_103;
const CANCEL_REQUEST = 80_877_102;

/** What the driver's client has, but its types lack: cancel.spec.ts fails if that changes. */
interface Key {
  /** Null if a pooler gave none. */
  readonly processID: number | null;
  readonly secretKey: number;
  readonly ssl: ConnectionOptions | boolean;
}

/**
 * Cancels a statement by the protocol's own request, which needs no session and which poolers pass on; encrypted if the
 * session is. The statement may commit all the same. The driver's own `client.cancel()` uses no TLS
 * (brianc/node-postgres#753 and #773; #3751 is to replace it). @throws Error if the server does not take it in time
 */
export async function cancelStatement(client: Client): Promise<void> {
  const { processID, secretKey, ssl } = client as unknown as Key;
  if (!processID) throw new Error('the session has no key');
  const { host, port } = client;
  // The address of the session's own server: a name may have several.
  const { remoteAddress, remotePort = port } = client.connection.stream as Socket;
  const socket = remoteAddress
    ? connect(remotePort, remoteAddress)
    : connect(`${host}/.s.PGSQL.${port}`);
  socket.on('error', ignore);
  try {
    await next(socket, 'connect');
    const stream = ssl ? await encrypt(socket, host, ssl === true ? {} : ssl) : socket;
    // Not end(): PgBouncer ends with a fatal error if a client closes its side now (pgbouncer/pgbouncer#801).
    stream.write(encode(CANCEL_REQUEST, processID, secretKey));
    await next(stream.resume(), 'close');
  } finally {
    socket.destroy();
  }
}

async function encrypt(socket: Socket, host: string, options: ConnectionOptions): Promise<Socket> {
  socket.write(encode(SSL_REQUEST));
  const [reply] = (await next(socket, 'data')) as [Buffer];
  if (reply.toString() !== 'S') throw new Error('the server does not support TLS');
  const stream = connectTls({
    ...options,
    // The driver's `key` is not enumerable, so the spread lacks it.
    ...(options.key && { key: options.key }),
    socket,
    // The certificate is for the name.
    host,
    ...(isIP(host) === 0 && { servername: host }),
  });
  stream.on('error', ignore);
  await next(stream, 'secureConnect');
  return stream;
}

function next(stream: Socket, event: string): Promise<unknown[]> {
  return once(stream, event, { signal: AbortSignal.timeout(STEP_TIMEOUT_MS) });
}

/** once() reports errors while it waits. */
function ignore(): void {}

/** A message of 32-bit integers, behind its length. */
function encode(...integers: number[]): Buffer {
  const message = Buffer.alloc(4 * (integers.length + 1));
  [message.length, ...integers].forEach((integer, i) => message.writeInt32BE(integer, 4 * i));
  return message;
}
