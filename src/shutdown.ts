import { execFile } from 'node:child_process';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Config } from './config/config.js';
import { Writer } from './database/engine.js';
import { requestEnd, type RequestContext } from './http/request-context.js';
import { speaksTls } from './config/key-pair.js';
import type { Lifecycle } from './management/management.js';
import { GroupCommit } from './plants/group-commit.js';

/** Has SIGTERM, SIGINT, and without TLS SIGHUP, end the process: at once while it starts, else in order. */
export function stopOnSignals(lifecycle: Lifecycle, config: Config): void {
  const stop = (signal: NodeJS.Signals): void => {
    const { phase, app } = lifecycle;
    if (phase === 'starting' || !app) {
      new Logger('Shutdown').log(`${signal}: stopped before the service listened`);
      process.exit(0);
    }
    // Ctrl-C sends two signals: the terminal's, to the whole process group, and npm's, which passes its own on.
    if (phase === 'stopping') return;
    lifecycle.phase = 'stopping';
    notifySystemd('STOPPING=1');
    void shutDown(app, config, signal);
  };
  // Opening the store can take a while, and the first process of a container ignores unhandled signals.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
  // With TLS it reloads the certificate. Unhandled, it would cut requests off, and say nothing.
  if (!speaksTls(config)) process.on('SIGHUP', stop);
}

/**
 * Ends the process in order: serves for SHUTDOWN_DELAY more, responds to every accepted request, closes the store, exits.
 * Exits with 1 if the server or the store cannot be closed, or after SHUTDOWN_TIMEOUT. The log says when and why the
 * stop began, and how it ended.
 */
async function shutDown(
  app: INestApplicationContext,
  config: Config,
  signal: NodeJS.Signals,
): Promise<void> {
  const logger = new Logger('Shutdown');
  const beganAt = performance.now();
  let completed = 0;
  requestEnd.subscribe((context) => {
    if ((context as RequestContext).status !== undefined) completed += 1;
  });
  const describeProgress = (): string => {
    const seconds = (performance.now() - beganAt) / 1_000;
    return `${seconds.toFixed(1)} s; requests completed during the stop: ${completed}`;
  };
  /** Exits at once, and logs how many plants were not settled. */
  const giveUp = (): void => {
    const { unsettled } = app.get(GroupCommit);
    logger.error(
      `gave up after ${describeProgress()}; plants without the end of their commit: ${unsettled}`,
    );
    void app.get(Writer).abortAndExit(1);
  };
  logger.log(`${signal}: stopping`);
  setTimeout(giveUp, config.shutdownDelay + config.shutdownTimeout);
  try {
    await app.close();
    // TypeOrmModule only logs why.
    if (app.get(DataSource).isInitialized) throw new Error('the store could not be closed');
    logger.log(`stopped after ${describeProgress()}`);
    process.exit(0);
  } catch (error) {
    logger.error(error);
    logger.error(`stopped after ${describeProgress()}, not in order`);
    process.exit(1);
  }
}

/**
 * Tells systemd that the service is ready or stops (sd_notify(3)), where systemd has asked for it (`Type=notify`).
 * Node.js has no datagram sockets of a path, so systemd's own program does it; the unit allows that by
 * `NotifyAccess=all`.
 */
export function notifySystemd(state: 'READY=1' | 'STOPPING=1'): void {
  // eslint-disable-next-line no-restricted-properties -- systemd's variable, no part of the service's configuration
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  // The program needs none of the service's secrets.
  execFile('systemd-notify', [state], { env: { PATH, NOTIFY_SOCKET } }, (error) => {
    if (error) new Logger('PlantStore').warn(`systemd was not told ${state}: ${error.message}`);
  });
}
