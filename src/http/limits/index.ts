import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CONNECTION, type Connection, type Held } from './connection.js';

/**
 * What one client, and all together, may hold and have served (docs/configuration.md, "Limits"). The door of the folder:
 * a `Connection` bounds its requests in number, `Reading` what it takes to read them, `Holding` counts their bytes, `Turns`
 * share out time, and `Connections` memory and files.
 */
export { MAX_REQUESTS, MAX_WITHOUT_TOKEN, type Connection } from './connection.js';
export { Connections } from './connections.js';

export function getConnection({ socket }: IncomingMessage): Connection {
  return (socket as Held)[CONNECTION];
}

/** Finds the connection of a socket; one that was not accepted yet, or is negotiating TLS, may have none. */
export function findConnection(socket: Duplex): Connection | undefined {
  return (socket as Partial<Held>)[CONNECTION];
}
