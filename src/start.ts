import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { Server as TlsServer } from 'node:https';
import { createServer, isIPv6, type AddressInfo, type Server } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { getRepositoryToken } from '@nestjs/typeorm';
import { createApp } from './app.js';
import { Token } from './auth/tokens/token.entity.js';
import { TokensService } from './auth/tokens/tokens.service.js';
import type { Config } from './config/config.js';
import { describeProcess, loadEnvironment, readConfig } from './config/environment.js';
import { toExitCode, toOperatorMessage } from './errors/operator-message.js';
import { reloadKeyPairOnHangup, speaksTls } from './http/tls.js';
import { Management, type Lifecycle } from './management/management.js';
import { shutDown } from './shutdown.js';
import { logCrashes, ServiceLogger } from './telemetry/logger.js';

/** Starts the service. SIGTERM and SIGINT end it, once every accepted request has its answer. */
async function start(): Promise<void> {
  setCollectorFlags();
  loadEnvironment();
  const config = readConfig();
  const listening = Promise.withResolvers<Server>();
  // Unhandled, the signal would end the process.
  if (speaksTls(config)) reloadKeyPairOnHangup(listening.promise as Promise<TlsServer>, config);
  const logger = new ServiceLogger(config);
  Logger.overrideLogger(logger);
  logCrashes();
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
  const management = await manage(config, lifecycle);
  const app = await createApp(config, logger);
  if (management) management.app = app;
  // Before the first request, which would wait.
  collectGarbage();
  await app.listen(config.port, config.host);
  lifecycle.phase = 'serving';
  listening.resolve(app.getHttpServer());
  await announce(app, config);
  notifySystemd('READY=1');
}

/** Sets how V8 collects what requests leave behind; docs/performance.md has the measurements. */
function setCollectorFlags(): void {
  // If V8 collects garbage while many requests begin, it makes further objects of their kind in the old generation.
  // When they are dead, they keep alive what they point to until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // By default the old generation grows to four times what is alive, before V8 looks for garbage in it.
  setFlagsFromString('--heap-growing-percent=80');
}

/** Gives back the memory that the start has used, 35 MB of 155: V8 would keep it. Takes 0.1 s, once. */
function collectGarbage(): void {
  // V8 exposes its collector to contexts that are made from here on.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * Starts the management listener unless it is off, and tells where it is.
 *
 * @throws Error if it cannot listen; the message tells of PORT too if the service cannot listen either
 */
async function manage(config: Config, lifecycle: Lifecycle): Promise<Management | undefined> {
  if (config.managementPort === 'off') return undefined;
  const management = new Management(config, lifecycle);
  try {
    await management.listen(config);
  } catch (error) {
    const problem = `${toOperatorMessage(error, 'MANAGEMENT_')} ${await findListenProblem(config)}`;
    throw new Error(problem.trimEnd(), { cause: error });
  }
  say(`Management: http://${formatAddress(management.server)}`, config);
  return management;
}

/** Why the service itself could not listen; '' if it could. */
async function findListenProblem({ port, host, reusePort }: Config): Promise<string> {
  // The kernel would give the probe connections that other processes on the port should have.
  if (reusePort) return '';
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    return '';
  } catch (error) {
    return toOperatorMessage(error);
  } finally {
    probe.close();
  }
}

/** Tells the operator where the service is, and in development how to send it a first plant. */
async function announce(app: NestExpressApplication, config: Config): Promise<void> {
  const url = `${speaksTls(config) ? 'https' : 'http'}://${formatAddress(app.getHttpServer())}`;
  say(`Plant store: ${url}/plants`, config);
  if (config.docs) say(`Documentation: ${url}/docs`, config);
  if (config.production) return;
  const secret = await new TokensService(app.get(getRepositoryToken(Token))).createFirst();
  if (secret === undefined) return;
  process.stdout.write(
    '\nThe store has no token yet. Here is one; it is shown only now:\n\n' +
      `  ${secret}\n\nStore a plant:\n\n` +
      `  curl ${url}/plants -H 'Authorization: Bearer ${secret}' \\\n` +
      `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n\n`,
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

try {
  await start();
} catch (error) {
  process.stderr.write(`${toOperatorMessage(error)}\n`);
  process.exit(toExitCode(error));
}
