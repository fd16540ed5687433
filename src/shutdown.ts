import { execFile } from 'node:child_process';
import {
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type INestApplication,
} from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Config } from './config/config.js';
import { Writer } from './database/engine.js';
import { Connections } from './http/connections.js';

const logger = new Logger('Shutdown');

/**
 * Has SIGTERM, SIGINT, and without TLS SIGHUP, end a start, which may wait for the store: the first process of a container
 * ignores unhandled signals. @returns a function that from then on has Nest close the application on them
 */
export function endStartOnSignals({ scheme }: Config): (app: INestApplication) => void {
  // With TLS it reloads the certificate. Unhandled, it would cut requests off.
  const signals = ['SIGTERM', 'SIGINT', ...(scheme === 'https' ? [] : ['SIGHUP'])];
  let isStarting = true;
  // Stays: Nest removes its own listeners before the exit, and npm forwards a signal that the service has had.
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

/** The stop. By a signal, logs how it went, and exits with 1 after SHUTDOWN_TIMEOUT or if closing fails. */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  constructor(
    private readonly config: Config,
    private readonly store: DataSource,
    private readonly writer: Writer,
    private readonly connections: Connections,
  ) {}

  /** Drains the connections before Nest closes the server. */
  async beforeApplicationShutdown(signal?: string): Promise<void> {
    if (signal !== undefined) {
      notifySystemd('STOPPING=1');
      logger.log(`${signal}: stopping`);
      const timeoutMs = this.config.shutdownDelay + this.config.shutdownTimeout;
      setTimeout(() => this.giveUp(), timeoutMs);
    }
    await this.connections.drain();
  }

  private giveUp(): void {
    logger.error('gave up: the stop has taken longer than SHUTDOWN_TIMEOUT');
    void this.writer.abortAndExit(1);
  }

  /** To be called once all is closed. */
  conclude(signal?: string): void {
    if (signal === undefined) return;
    // TypeOrmModule only logs why.
    if (this.store.isInitialized) {
      logger.error('the store could not be closed: stopped, but not in order');
      process.exit(1);
    }
    logger.log('stopped');
  }
}

/** Tells systemd (sd_notify(3)), if it asks for it, by its own program: Node.js has no datagram sockets of a path. */
export function notifySystemd(state: 'READY=1' | 'STOPPING=1'): void {
  // eslint-disable-next-line no-restricted-properties -- systemd's variable, no part of the service's configuration
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  // The program needs none of the service's secrets.
  execFile('systemd-notify', [state], { env: { PATH, NOTIFY_SOCKET } }, (error) => {
    if (error) logger.warn(`systemd was not told ${state}: ${error.message}`);
  });
}
