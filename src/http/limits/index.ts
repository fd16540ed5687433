// What other folders may import of the limits. A request's way begins in connection.ts, at receive(): step 1 of 13.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CONNECTION, type Connection, type ClientSocket } from './connection.js';

/**
 * The limits of one client, and of all together (docs/configuration.md, "Limits"). The entry point of the folder: a
 * `Connection` limits the number of its requests, `Reading` what it takes to read them, `Reservation` counts their bytes,
 * `Turns` share out time, and `Connections` memory and files.
 */
export { MAX_REQUESTS, MAX_WITHOUT_TOKEN, type Connection } from './connection.js';
export { Connections } from './connections.js';

export function getConnection({ socket }: IncomingMessage): Connection {
  return (socket as ClientSocket)[CONNECTION];
}

/** Finds the connection of a socket; one that was not accepted yet, or is negotiating TLS, may have none. */
export function findConnection(socket: Duplex): Connection | undefined {
  return (socket as Partial<ClientSocket>)[CONNECTION];
}
