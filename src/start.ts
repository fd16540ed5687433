// A start, steps 2 to 6 of 6: from the configuration to a service that listens and says where.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { Server as TlsServer } from 'node:https';
import { createServer, isIPv6, type AddressInfo, type Server } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { getRepositoryToken } from '@nestjs/typeorm';
import type { Command } from 'commander';
import type { Repository } from 'typeorm';
import { createApp } from './app.module.js';
import { Token } from './auth/tokens/token.entity.js';
import { TokensService } from './auth/tokens/tokens.service.js';
import { COMMAND, type Config } from './config/config.js';
import { ConfigError, describeProcess, findUser, inspectConfig } from './config/environment.js';
import { EXPIRES_SOON_MS, toExitCode, toOperatorMessage } from './errors/operator-message.js';
import { readKeyPair, reloadKeyPairOnHangup, speaksTls } from './http/tls.js';
import { Management, type Lifecycle } from './management/management.js';
import { shutDown } from './shutdown.js';
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
    .action(async () => {
      try {
        await start();
      } catch (error) {
        reportFailure(toOperatorMessage(error));
        process.exit(toExitCode(error));
      }
    });
}

/** Writes why the start failed to stderr: as a line of the log in production, else as text. */
function reportFailure(message: string): void {
  const { config } = inspectConfig();
  if (config.production) new ServiceLogger(config, process.stderr).fatal(message, 'PlantStore');
  else process.stderr.write(`${message}\n`);
}

/** SIGTERM and SIGINT end the service, once every accepted request has its response. */
async function start(): Promise<void> {
  const { config, problems, warnings } = inspectConfig();
  const listening = Promise.withResolvers<Server>();
  // Unhandled, the signal would end the process.
  if (speaksTls(config)) reloadKeyPairOnHangup(listening.promise as Promise<TlsServer>, config);
  const logger = new ServiceLogger(config);
  Logger.overrideLogger(logger);
  logCrashes();
  for (const warning of warnings) new Logger('Configuration').warn(warning);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const lifecycle: Lifecycle = { phase: 'starting' };
  const stop = (signal: NodeJS.Signals): void => {
    if (lifecycle.phase === 'starting') {
      new Logger('Shutdown').log(`${signal}: stopped before the service listened`);
      process.exit(0);
    }
    // Ctrl-C sends two signals: the terminal's, to the whole process group, and npm's, which passes its own on.
    if (lifecycle.phase === 'stopping') return;
    lifecycle.phase = 'stopping';
    notifySystemd('STOPPING=1');
    void shutDown(app, config, signal);
  };
  // Opening the store can take a while, and the first process of a container ignores unhandled signals.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  say(describeProcess(config), config);
  // What is wrong shows before health is announced, and before a store is made.
  readKeyPair(config);
  await tryToListen(config);
  const management = await manage(config, lifecycle);
  const app = await createApp(config, logger);
  if (management) management.app = app;
  // Gives back the memory that the start has used, before the first request, which would wait.
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  await awaitListening(app.listen(config.port, config.host));
  lifecycle.phase = 'serving';
  listening.resolve(app.getHttpServer());
  const tokens = app.get<Repository<Token>>(getRepositoryToken(Token));
  await announce(app, config, new TokensService(tokens));
  notifySystemd('READY=1');
  // If the store fails now, its health says so.
  await warnOfTokens(tokens, config).catch(() => undefined);
}

/**
 * Listens for a moment where the service will.
 *
 * @throws Error if it cannot
 */
async function tryToListen({ port, host, reusePort }: Config): Promise<void> {
  await using server = createServer((socket) => socket.destroy());
  // On a shared port the kernel would give this one connections that other processes would serve.
  server.listen({ port: reusePort ? 0 : port, host });
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
      return `Port ${port} is in use by another process: stop that one, or set ${prefix}PORT to another port.`;
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

/**
 * Starts the management listener unless it is off, and tells where it is.
 *
 * @throws Error if it cannot listen
 */
async function manage(config: Config, lifecycle: Lifecycle): Promise<Management | undefined> {
  if (config.managementPort === 'off') return undefined;
  const management = new Management(config, lifecycle);
  await awaitListening(management.listen(config), 'MANAGEMENT_');
  say(`Management: http://${formatAddress(management.server)}`, config);
  return management;
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

/** Warns of a store without tokens, unless an identity provider has them, and of a token that expires soon. */
async function warnOfTokens(tokens: Repository<Token>, { authIssuer }: Config): Promise<void> {
  const logger = new Logger('Tokens');
  if (authIssuer === undefined && (await tokens.count()) === 0)
    logger.warn(`the store has no token yet: run ${COMMAND} token create NAME`);
  const { name, expiresAt } = (await new TokensService(tokens).findNextExpiry()) ?? {};
  if (!expiresAt || expiresAt.getTime() - Date.now() > EXPIRES_SOON_MS) return;
  logger.warn(
    `the token ${name} expires ${expiresAt.toISOString()}: run ${COMMAND} token rotate ${name}`,
  );
}

/** Writes a line for the operator: to the log in production, else to stdout as it is. */
function say(line: string, { production }: Config): void {
  if (production) new Logger('PlantStore').log(line);
  else process.stdout.write(`${line}\n`);
}

function formatAddress(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return `${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

/**
 * Tells systemd that the service is ready or stops (sd_notify(3)), where systemd has asked for it (`Type=notify`).
 * Node.js has no datagram sockets of a path, so systemd's own program does it; the unit allows that by
 * `NotifyAccess=all`.
 */
function notifySystemd(state: 'READY=1' | 'STOPPING=1'): void {
  // eslint-disable-next-line no-restricted-properties -- systemd's variable, no part of the service's configuration
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  // The program needs none of the service's secrets.
  execFile('systemd-notify', [state], { env: { PATH, NOTIFY_SOCKET } }, (error) => {
    if (error) new Logger('PlantStore').warn(`systemd was not told ${state}: ${error.message}`);
  });
}
