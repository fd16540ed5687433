import { once } from 'node:events';
import type { Server } from 'node:https';
import { createServer } from 'node:net';
import { Logger } from '@nestjs/common';
import { announce, announceManagement, announceStore } from './announce.js';
import { createApp } from './app.js';
import { loadEnvironment, readConfig } from './config/environment.js';
import type { Config } from './config/config.js';
import { reloadKeyPairOnHangup, speaksTls } from './http/key-pair.js';
import { startManagement } from './management/start-management.js';
import { Lifecycle, ThisProcess } from './management/this-process.js';
import { exitCodeOf, toOperatorMessage } from './errors/describe.js';
import { notifySystemd } from './notify-systemd.js';
import { Shutdown, SIGNALS } from './shutdown.js';
import { logCrashes, ServiceLogger } from './telemetry/logger.js';

/** Starts the service. SIGTERM and SIGINT end it, once every accepted request has its answer. */
async function start(): Promise<void> {
  loadEnvironment();
  const config = readConfig();
  const listening = Promise.withResolvers<Server>();
  // From here on: unhandled, the signal would end the process.
  if (speaksTls(config)) reloadKeyPairOnHangup(listening.promise, config);
  Logger.overrideLogger(new ServiceLogger(config));
  logCrashes();
  // The store may be long in coming, and the first process of a container has no other way to end.
  for (const signal of SIGNALS) process.on(signal, exit);
  announceStore(config);
  const lifecycle = new Lifecycle();
  const thisProcess = await manage(config, lifecycle);
  const app = await createApp(config);
  thisProcess?.attach(app);
  await app.listen(config.port, config.host);
  lifecycle.phase = 'serving';
  new Shutdown(app, lifecycle, config).listen();
  for (const signal of SIGNALS) process.off(signal, exit);
  listening.resolve(app.getHttpServer() as Server);
  await announce(app, config);
  notifySystemd('READY=1');
}

/** Nobody is served yet. */
function exit(signal: NodeJS.Signals): void {
  new Logger('Shutdown').log(`${signal}: stopped before the service listened`);
  process.exit(0);
}

/**
 * Starts the management listener, if there is to be one, and tells where it is.
 *
 * @throws Error where it cannot listen; the message tells of PORT too where that is in use as well
 */
async function manage(config: Config, lifecycle: Lifecycle): Promise<ThisProcess | undefined> {
  if (config.managementPort === 'off') return undefined;
  const thisProcess = new ThisProcess(config, lifecycle);
  try {
    announceManagement(await startManagement(config, thisProcess), config);
  } catch (error) {
    const other = await listenError(config);
    if (other === undefined) throw error;
    const problems = [error, other].map((problem) => toOperatorMessage(problem));
    throw new Error(problems.join(' '), { cause: error });
  }
  return thisProcess;
}

/** Why the service itself could not listen: undefined where it could. */
async function listenError({ port, host, reusePort }: Config): Promise<unknown> {
  // The kernel would give the probe connections that other processes on the port should have.
  if (reusePort) return undefined;
  const probe = createServer().listen(port, host);
  try {
    await once(probe, 'listening');
    return undefined;
  } catch (error) {
    return error;
  } finally {
    probe.close();
  }
}

try {
  await start();
} catch (error) {
  process.stderr.write(`${toOperatorMessage(error)}\n`);
  process.exit(exitCodeOf(error));
}
