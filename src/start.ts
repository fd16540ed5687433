import cluster from 'node:cluster';
import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import { announce, announceManagement } from './announce.js';
import { createApp } from './app.js';
import { readConfig } from './config/read-config.js';
import type { Config } from './config/config.js';
import { speaksTls } from './http/key-pair.js';
import { reloadKeyPairOnHangup } from './http/reload-key-pair.js';
import { Lifecycle } from './lifecycle.js';
import { logCrashes } from './logging/log-crashes.js';
import { ServiceLogger } from './logging/service-logger.js';
import type { Monitored } from './management/monitored.js';
import { startManagement } from './management/start-management.js';
import { ThisProcess } from './management/this-process.js';
import { reasonOf } from './reason.js';
import { Shutdown, SIGNALS } from './shutdown.js';
import { AllWorkers } from './workers/all-workers.js';
import { answerPrimary } from './workers/answer-primary.js';
import { endWithPrimary } from './workers/end-with-primary.js';
import { Workers } from './workers/workers.js';

/** Starts the service: in this process, or in several that share a port, and this one keeps going. */
async function start(): Promise<void> {
  const config = readConfig();
  // Who starts reads the certificate anyway; unhandled, the signal would end the process.
  if (speaksTls(config)) process.on('SIGHUP', () => undefined);
  Logger.overrideLogger(new ServiceLogger(config));
  logCrashes();
  if (config.workers === 1) return serve(config);
  if (cluster.worker) {
    endWithPrimary();
    return serve(config, cluster.worker.id === 1);
  }
  await manage(config, new AllWorkers(config.workers));
  new Workers(config).start();
}

/**
 * Serves. SIGTERM and SIGINT end it, once every accepted request has its answer.
 *
 * @param announced whether this process tells where the service is
 */
async function serve(config: Config, announced = true): Promise<void> {
  // The store may be long in coming, and the first process of a container has no other way to end.
  for (const signal of SIGNALS) process.on(signal, exit);
  const lifecycle = new Lifecycle();
  const thisProcess =
    config.managementPort === 'off' ? undefined : new ThisProcess(config, lifecycle);
  if (thisProcess) {
    if (cluster.isPrimary) await manage(config, thisProcess);
    else answerPrimary(thisProcess);
  }
  const app = await createApp(config, { metrics: thisProcess?.counted });
  thisProcess?.attach(app);
  await app.listen(config.port, config.host);
  lifecycle.phase = 'serving';
  new Shutdown(app, lifecycle, config).listen();
  for (const signal of SIGNALS) process.off(signal, exit);
  if (speaksTls(config)) reloadKeyPairOnHangup(app.getHttpServer() as Server, config);
  if (announced) await announce(app, config);
}

function exit(): void {
  process.exit(0);
}

/** Starts the management listener, and tells where it is. */
async function manage(config: Config, monitored: Monitored): Promise<void> {
  const app = await startManagement(config, monitored);
  if (app) announceManagement(app, config);
}

try {
  await start();
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`);
  process.exit(1);
}
