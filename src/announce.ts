// What a start tells the operator: where the service listens or why it cannot, its first token, and tokens that expire soon.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Token } from './auth/tokens/token.entity.js';
import { TokensService } from './auth/tokens/tokens.service.js';
import { listExpiryWarnings } from './cli/token-table.js';
import { COMMAND, describeUser, formatAuthority, type Config } from './config/config.js';

const MAX_EXPIRY_WARNINGS = 5;

/** Prints a line for the operator: to the log in production, else to stdout as it is. */
export function print(line: string, { production }: Config): void {
  if (production) new Logger('PlantStore').log(line);
  else process.stdout.write(`${line}\n`);
}

/** Prints where the service is, and in development how to send it a first plant; warns of its tokens. */
export async function announce(app: NestExpressApplication, config: Config): Promise<void> {
  const url = `${config.scheme}://${formatAddress(app.getHttpServer())}`;
  if (config.docs) print(`Documentation: ${url}/docs`, config);
  print(`Plant store: ${url}`, config);
  const tokens = app.get(TokensService);
  const secret = config.production ? undefined : await tokens.createFirst();
  if (secret !== undefined)
    process.stdout.write(
      '\nThe store has no token yet. Here is one; it is shown only now:\n\n' +
        `  ${secret}\n\nStore a plant:\n\n` +
        `  curl ${url}/plants -H 'Authorization: Bearer ${secret}' \\\n` +
        `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n\n`,
    );
  warnOfTokens(await tokens.list(), config);
}

/** Warns about a store without tokens, unless an identity provider has them, and about tokens that expire soon. */
function warnOfTokens(tokens: readonly Token[], { authIssuer }: Config): void {
  const logger = new Logger('Tokens');
  if (authIssuer === undefined && tokens.length === 0)
    logger.warn(
      `the store has no token yet: run ${COMMAND} token create NAME; after a restore that broke off, first restore again`,
    );
  const warnings = listExpiryWarnings(tokens);
  for (const warning of warnings.slice(0, MAX_EXPIRY_WARNINGS)) logger.warn(`token ${warning}`);
  const more = warnings.length - MAX_EXPIRY_WARNINGS;
  if (more > 0) logger.warn(`${more} more tokens expire soon: run ${COMMAND} token list`);
}

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
