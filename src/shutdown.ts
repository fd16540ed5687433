import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from './config/config.js';
import { WritePath } from './database/engine.js';
import { exchangeEnd } from './http/exchange.js';
import type { PlantStoreAdapter } from './http/plant-store.adapter.js';
import type { Lifecycle } from './management/this-process.js';
import { notifySystemd } from './notify-systemd.js';
import { GroupCommit } from './plants/group-commit.js';
import { subscribe } from './telemetry/subscribe.js';

/** The signals that end the service. */
export const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Ends the process in order: first it is no longer ready, then it serves no more, then it is gone. The log
 * says why and when the stop began, and how it ended.
 */
export class Shutdown {
  private readonly logger = new Logger('Shutdown');
  private beganAt = 0;
  /** Requests that were answered since. */
  private answered = 0;

  constructor(
    private readonly app: NestExpressApplication,
    private readonly lifecycle: Lifecycle,
    private readonly config: Config,
  ) {}

  /**
   * A signal then ends the process; another one changes nothing. There mostly are two at Ctrl-C under npm, which
   * passes on what the terminal has sent to the whole process group.
   */
  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.begin(signal));
  }

  private async begin(signal: NodeJS.Signals): Promise<void> {
    const { shutdownDelay, shutdownTimeout } = this.config;
    if (this.lifecycle.phase === 'stopping') return;
    this.lifecycle.phase = 'stopping';
    this.beganAt = performance.now();
    subscribe(exchangeEnd, this.config, ({ status }) => {
      if (status !== undefined) this.answered += 1;
    });
    this.logger.log(`${signal}: stopping`);
    notifySystemd('STOPPING=1');
    // Others learn from /readyz, or from whoever sent the signal, that requests go elsewhere now.
    await sleep(shutdownDelay);
    setTimeout(() => void this.giveUp(), shutdownTimeout);
    try {
      await this.app.close();
      this.logger.log(`stopped after ${this.soFar()}`);
      process.exit(0);
    } catch (error) {
      this.logger.error(error);
      this.logger.error(`stopped after ${this.soFar()}, not in order`);
      process.exit(1);
    }
  }

  /** Exits at once, and logs what is left undone. */
  private async giveUp(): Promise<void> {
    const { exchanges } = this.app.getHttpAdapter() as unknown as PlantStoreAdapter;
    const { unsettled } = this.app.get(GroupCommit);
    this.logger.error(
      `gave up after ${this.soFar()}; requests without an answer: ${exchanges.inFlight}, ` +
        `plants without the end of their commit: ${unsettled}`,
    );
    await this.app.get(WritePath).abortAndExit(1);
  }

  private soFar(): string {
    const seconds = (performance.now() - this.beganAt) / 1_000;
    return `${seconds.toFixed(1)} s; requests answered during the stop: ${this.answered}`;
  }
}
