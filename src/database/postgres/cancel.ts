import { once } from 'node:events';
import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { Connection, type Client } from 'pg';

/** The time for each step: TCP sends a lost packet again after 1 s. */
const STEP_TIMEOUT_MS = 2_000;

/** Members that the driver has, but its types lack: cancel.spec.ts fails if they change. */
interface Key {
  /** The server's process; null if a pooler has not told it. */
  readonly processID: number | null;
  readonly secretKey: number;
  /** The type lacks `true`, which has no members to spread. */
  readonly ssl: ConnectionOptions | false;
}
type Canceller = Connection & {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
};

/**
 * Cancels a statement by the protocol's own request, which needs no session, and which poolers pass on. It is encrypted if the
 * session is, unlike that of the driver's `client.cancel()` (brianc/node-postgres#3751 is to replace this function). The
 * statement may commit all the same. @throws Error if the server does not take the request in time
 */
export async function cancelStatement(client: Client): Promise<void> {
  const { processID, secretKey, ssl } = client as unknown as Key;
  if (!processID) throw new Error('the session has no key');
  const { host, port } = client;
  const session = client.connection.stream as Socket;
  // The certificate is for the host's name. The spread lacks `key`, which the driver makes not enumerable.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const tls = ssl && { ...ssl, key: ssl.key, host, ...servername };
  const connection = new Connection({ ssl: tls }) as Canceller;
  const next = (stream: Connection | Socket, event: string) =>
    once(stream, event, { signal: AbortSignal.timeout(STEP_TIMEOUT_MS) });
  // Each wait below rejects with errors. Those between two waits must not end the process.
  connection.on('error', () => undefined);
  try {
    // The request goes to the address of the session's own server: a name may have several.
    if (session.remoteAddress)
      connection.connect(session.remotePort ?? port, session.remoteAddress);
    else connection.connect(`${host}/.s.PGSQL.${port}`);
    await next(connection, 'connect');
    if (tls) {
      connection.requestSsl();
      await next(connection, 'sslconnect');
      await next(connection.stream as Socket, 'secureConnect');
    }
    connection.cancel(processID, secretKey);
    await next(connection, 'end');
  } finally {
    connection.stream.destroy();
  }
}
