// Where a server listens, or why it cannot.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { COMMAND, describeUser, formatAuthority, type Config } from './config/config.js';

/** Node's error where a server cannot listen. */
type ListenError = Error & Partial<Record<'code' | 'port' | 'address' | 'hostname', string>>;

/** Listens for a moment where the service will. @throws Error if it cannot */
export async function tryToListen({ port, host }: Config): Promise<void> {
  await using server = createServer((socket) => socket.destroy());
  server.listen({ port, host });
  await awaitListening(once(server, 'listening'));
}

/** Waits until a server listens. @param prefix of PORT and HOST @throws Error that says in words why it cannot */
export async function awaitListening(listening: Promise<unknown>, prefix = ''): Promise<void> {
  try {
    await listening;
  } catch (cause) {
    throw new Error(explain(cause as ListenError, prefix), { cause });
  }
}

function explain(error: ListenError, prefix: string): string {
  const { code, message, port, address, hostname = address } = error;
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use by another process, perhaps by this service (${COMMAND} status): stop that one, or set ${prefix}PORT to another port.`;
    case 'EACCES':
      return `${prefix}PORT: user ${describeUser()} lacks CAP_NET_BIND_SERVICE for port ${port}: grant it, or set a port from 1024.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${prefix}HOST must be an address of this machine, or 0.0.0.0 or :: for all of them, not ${hostname}.`;
    default:
      return `${prefix}HOST and ${prefix}PORT: ${message}`;
  }
}

/** The address of a server that listens, as in a URL. */
export function formatAddress(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return formatAuthority(address, port);
}
