import { once } from 'node:events';
import { createServer } from 'node:net';
import { COMMAND, describeUser, type Config } from './config/config.js';

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

/** Node's error where a server cannot listen. */
type ListenError = Error & Partial<Record<'code' | 'port' | 'address' | 'hostname', string>>;

function explain(error: ListenError, prefix: string): string {
  const { code = '', message, port, address, hostname = address } = error;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use by another process, perhaps by this service (${COMMAND} status): stop that one, or set ${prefix}PORT to another port.`;
  if (code === 'EACCES')
    return `${prefix}PORT: user ${describeUser()} lacks CAP_NET_BIND_SERVICE for port ${port}: grant it, or set a port from 1024.`;
  if (/^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)$/.test(code))
    return `${prefix}HOST must be an address of this machine, or 0.0.0.0 or :: for all of them, not ${hostname}.`;
  return `${prefix}HOST and ${prefix}PORT: ${message}`;
}
