// From the configuration to a service that listens and says where.
import { once } from 'node:events';
import type { Server as TlsServer } from 'node:https';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { Command } from 'commander';
import type { Repository } from 'typeorm';
import { createApp } from './app.module.js';
import { Token } from './auth/tokens/token.entity.js';
import { TokensService } from './auth/tokens/tokens.service.js';
import { listExpiryWarnings } from './cli/token-table.js';
import { COMMAND, type Config } from './config/config.js';
import { ConfigError, describeProcess, findUser, inspectConfig } from './config/environment.js';
import { formatAuthority } from './http/authority.js';
import { toExitCode, toOperatorMessage } from './errors/operator-message.js';
import { readKeyPair, speaksTls } from './config/key-pair.js';
import { reloadKeyPairOnHangup } from './http/tls.js';
import { Management, type Lifecycle } from './management/management.js';
import { notifySystemd, stopOnSignals } from './shutdown.js';
import { logCrashes, ServiceLogger } from './telemetry/logger.js';

/** `serve`: starts the service. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .summary('start the service')
    .description(
      'Start the service in the foreground. SIGTERM or SIGINT stops it, once every request in progress has its response.',
    )
    .addHelpText('after', `\nExample:\n  $ PORT=8080 ${COMMAND} serve`)
    .configureHelp({
      showGlobalOptions: true,
      // The others are of no use here.
      visibleGlobalOptions: () => program.options.filter(({ long }) => long === '--env-file'),
    })
    .action(async () => {
      try {
        await start();
      } catch (error) {
        reportFailure(toOperatorMessage(error));
        process.exit(toExitCode(error));
      }
    });
}

/** Writes why the start failed to stderr: as lines of the log in production, else as other commands do. */
function reportFailure(message: string): void {
  const { config } = inspectConfig();
  const logger = new ServiceLogger(config, process.stderr);
  for (const line of message.split('\n')) {
    if (config.production) logger.fatal(line, 'PlantStore');
    else process.stderr.write(`error: ${line}\n`);
  }
}

async function start(): Promise<void> {
  // The configuration and the log.
  const { config, problems, warnings } = inspectConfig();
  const listening = Promise.withResolvers<Server>();
  // Unhandled, SIGHUP would end the process.
  if (speaksTls(config)) reloadKeyPairOnHangup(listening.promise as Promise<TlsServer>, config);
  const logger = new ServiceLogger(config);
  Logger.overrideLogger(logger);
  logCrashes();
  for (const warning of warnings) new Logger('Configuration').warn(warning);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const lifecycle: Lifecycle = { phase: 'starting' };
  stopOnSignals(lifecycle, config);
  say(describeProcess(config), config);
  // What is wrong shows before health is announced, and before a store is made. createApp() reads the pair again.
  readKeyPair(config);
  await tryToListen(config);

  // Health and metrics.
  if (config.managementPort !== 'off') await serveManagement(config, lifecycle);

  // The application, with its store.
  const app = await createApp(config, logger);
  lifecycle.app = app;

  // The service listens.
  await awaitListening(app.listen(config.port, config.host));
  lifecycle.phase = 'serving';
  listening.resolve(app.getHttpServer());

  // The operator and systemd are told.
  const tokens = app.get<Repository<Token>>(getRepositoryToken(Token));
  await announce(app, config, new TokensService(tokens));
  notifySystemd('READY=1');
  // If the store fails now, its health says so.
  await warnOfTokens(tokens, config).catch(() => undefined);
}

/** Listens for a moment where the service will. @throws Error if it cannot */
async function tryToListen({ port, host }: Config): Promise<void> {
  await using server = createServer((socket) => socket.destroy());
  server.listen({ port, host });
  await awaitListening(once(server, 'listening'));
}

/** Node's error where a server cannot listen. */
interface ListenError extends NodeJS.ErrnoException {
  readonly port?: number;
  readonly address?: string;
  readonly hostname?: string;
}

/**
 * Waits until a server listens.
 *
 * @param prefix of its variables PORT and HOST, such as `MANAGEMENT_`
 * @throws Error that says in words why it cannot
 */
async function awaitListening(listening: Promise<unknown>, prefix = ''): Promise<void> {
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
      return `${prefix}PORT: user ${findUser()} lacks CAP_NET_BIND_SERVICE for port ${port}: grant it, or set a port from 1024.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${prefix}HOST must be an address of this machine, or 0.0.0.0 or :: for all of them, not ${hostname}.`;
    default:
      return `${prefix}HOST and ${prefix}PORT: ${message}`;
  }
}

/** @throws Error if the management port cannot be listened on */
async function serveManagement(config: Config, lifecycle: Lifecycle): Promise<void> {
  const management = new Management(config, lifecycle);
  await awaitListening(management.listen(), 'MANAGEMENT_');
  say(`Management: http://${formatAddress(management.server)}`, config);
}

/** Tells the operator where the service is, and in development how to send it a first plant. */
async function announce(
  app: NestExpressApplication,
  config: Config,
  tokens: TokensService,
): Promise<void> {
  const url = `${speaksTls(config) ? 'https' : 'http'}://${formatAddress(app.getHttpServer())}`;
  if (config.docs) say(`Documentation: ${url}/docs`, config);
  say(`Plant store: ${url}`, config);
  if (config.production) return;
  const secret = await tokens.createFirst();
  if (secret === undefined) return;
  process.stdout.write(
    '\nThe store has no token yet. Here is one; it is shown only now:\n\n' +
      `  ${secret}\n\nStore a plant:\n\n` +
      `  curl ${url}/plants -H 'Authorization: Bearer ${secret}' \\\n` +
      `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n\n`,
  );
}

const MAX_EXPIRY_WARNINGS = 5;

/** Warns of a store without tokens, unless an identity provider has them, and of tokens that expire soon. */
async function warnOfTokens(tokens: Repository<Token>, { authIssuer }: Config): Promise<void> {
  const logger = new Logger('Tokens');
  const all = await new TokensService(tokens).list();
  if (authIssuer === undefined && all.length === 0)
    logger.warn(`the store has no token yet: run ${COMMAND} token create NAME`);
  const warnings = listExpiryWarnings(all);
  for (const warning of warnings.slice(0, MAX_EXPIRY_WARNINGS)) logger.warn(`token ${warning}`);
  const more = warnings.length - MAX_EXPIRY_WARNINGS;
  if (more > 0) logger.warn(`${more} more tokens expire soon: run ${COMMAND} token list`);
}

/** Writes a line for the operator: to the log in production, else to stdout as it is. */
function say(line: string, { production }: Config): void {
  if (production) new Logger('PlantStore').log(line);
  else process.stdout.write(`${line}\n`);
}

function formatAddress(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return formatAuthority(address, port);
}
