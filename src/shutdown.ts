import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from './config/config.js';
import { WritePath } from './database/engine.js';
import type { PlantStoreAdapter } from './http/plant-store.adapter.js';
import type { Lifecycle } from './management/this-process.js';
import { PlantsService } from './plants/plants.service.js';

/** The signals that end the service. */
export const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Ends the process in order: first it is no longer ready, then it serves no more, then it is gone. */
export class Shutdown {
  private readonly logger = new Logger('Shutdown');

  constructor(
    private readonly app: NestExpressApplication,
    private readonly lifecycle: Lifecycle,
    private readonly config: Config,
  ) {}

  /** A signal then ends the process; another one changes nothing. */
  listen(): void {
    for (const signal of SIGNALS) process.on(signal, () => void this.begin());
  }

  private async begin(): Promise<void> {
    const { shutdownDelay, shutdownTimeout } = this.config;
    if (this.lifecycle.phase === 'stopping') return;
    this.lifecycle.phase = 'stopping';
    // Others learn from /readyz, or from whoever sent the signal, that requests go elsewhere now.
    await sleep(shutdownDelay);
    setTimeout(() => void this.giveUp(), shutdownTimeout);
    try {
      await this.app.close();
      process.exit(0);
    } catch (error) {
      this.logger.error(error);
      process.exit(1);
    }
  }

  /** Exits at once, and logs what is left undone. */
  private async giveUp(): Promise<void> {
    const seconds = this.config.shutdownTimeout / 1_000;
    const { exchanges } = this.app.getHttpAdapter() as unknown as PlantStoreAdapter;
    const { unsettled } = this.app.get(PlantsService);
    this.logger.error(
      `not done after ${seconds} s: requests without an answer: ${exchanges.inFlight}, ` +
        `plants without the end of their commit: ${unsettled}`,
    );
    await this.app.get(WritePath).abortAndExit(1);
  }
}
