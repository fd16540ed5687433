import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DataSource } from 'typeorm';
import type { Config } from './config/config.js';
import { WritePath } from './database/engine.js';
import { requestEnd, type RequestContext } from './http/request-context.js';
import type { PlantStoreAdapter } from './http/plant-store.adapter.js';
import { GroupCommit } from './plants/group-commit.js';

/**
 * Ends the process in order: serves for SHUTDOWN_DELAY more, responds to every accepted request, closes the store, exits.
 * Exits with 1 if the server or the store cannot be closed, or after SHUTDOWN_TIMEOUT. The log says when and why the
 * stop began, and how it ended.
 */
export async function shutDown(
  app: NestExpressApplication,
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
  /** Exits at once, and logs what is left undone. */
  const giveUp = (): void => {
    const { inFlight } = app.get<HttpAdapterHost<PlantStoreAdapter>>(HttpAdapterHost).httpAdapter;
    const { unsettled } = app.get(GroupCommit);
    logger.error(
      `gave up after ${describeProgress()}; requests without a response: ${inFlight}, ` +
        `plants without the end of their commit: ${unsettled}`,
    );
    void app.get(WritePath).abortAndExit(1);
  };
  logger.log(`${signal}: stopping`);
  // Load balancers learn from /readyz, or from the sender of the signal, to send requests elsewhere.
  await sleep(config.shutdownDelay);
  setTimeout(giveUp, config.shutdownTimeout);
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
