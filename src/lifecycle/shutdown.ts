import {
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type INestApplication,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from '../config/config.js';
import { Writer } from '../database/engine.js';
import { Drain } from '../http/drain.js';

const logger = new Logger('Shutdown');

/** Has signals end a start, also of a container's first process. @returns a function that has Nest handle them instead */
export function endStartOnSignals({ scheme }: Config): (app: INestApplication) => void {
  // With TLS, SIGHUP reloads the certificate. Without TLS it ends the service in order too, and cuts no request off.
  const signals = ['SIGTERM', 'SIGINT', ...(scheme === 'https' ? [] : ['SIGHUP'])];
  let isStarting = true;
  // Never removed: a second signal (npm forwards Ctrl-C) behind Nest's own listeners would kill the process while it stops.
  const exit = (signal: string): void => {
    if (!isStarting) return;
    logger.log(`${signal}: stopped before the service listened`);
    process.exit(0);
  };
  for (const signal of signals) process.on(signal, exit);
  return (app) => {
    app.enableShutdownHooks(signals, { useProcessExit: true });
    isStarting = false;
  };
}

/** Stops the service. If a signal asked for it, logs how it went, and exits with 1 after SHUTDOWN_TIMEOUT or if closing fails. */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(
    private readonly config: Config,
    private readonly store: DataSource,
    private readonly writer: Writer,
    private readonly drain: Drain,
  ) {}

  /** Drains the connections before Nest closes the server. */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    if (signal !== undefined) {
      logger.log(`${signal}: stopping`);
      const timeoutMs = this.config.shutdownDelay + this.config.shutdownTimeout;
      setTimeout(() => {
        logger.error('gave up: the stop has taken longer than SHUTDOWN_TIMEOUT');
        void this.writer.abortAndExit(1);
      }, timeoutMs);
    }
    await this.drain.drain();
  }

  /** Reports the result: Nest has closed all other modules before AppModule, which has this. */
  onApplicationShutdown(signal?: string): void {
    if (signal === undefined) return;
    // TypeOrmModule logs why the store could not be closed, and goes on.
    if (this.store.isInitialized) {
      logger.error(
        'the store could not be closed: stopped, but not in order; a line above says why, and the next start recovers the store',
      );
      process.exit(1);
    }
    logger.log('stopped');
  }
}
