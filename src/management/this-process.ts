import type { INestApplicationContext, OnApplicationShutdown } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/describe.js';
import { StoreHealth } from '../database/store-health.js';
import { GroupCommit, MAX_QUEUED } from '../plants/group-commit.js';
import { PlantsRepository } from '../plants/plants.repository.js';
import { Metrics } from '../telemetry/metrics.js';

/** Where the process is on its way from its start to its end. */
export class Lifecycle {
  phase: 'starting' | 'serving' | 'stopping' = 'starting';
}

/** The process that serves. It is asked from its start on, when there is no store and no app yet. */
export class ThisProcess implements OnApplicationShutdown {
  private readonly indicators = new HealthIndicatorService();
  private readonly counted: Metrics;
  private app: INestApplicationContext | undefined;
  private plants: GroupCommit | undefined;

  constructor(
    config: Config,
    private readonly lifecycle: Lifecycle,
  ) {
    this.counted = new Metrics(config, {
      queued: () => this.plants?.queued ?? 0,
      isStoreUp: () => this.isStoreUp(),
    });
  }

  /** The outcome of each check that must be well for requests to be sent here. */
  async health(): Promise<HealthIndicatorResult> {
    return { ...this.checkLifecycle(), ...(await this.checkStore()), ...this.checkQueue() };
  }

  /** The app is there now, for its health to be asked for. */
  attach(app: INestApplicationContext): void {
    this.app = app;
    this.plants = app.get(GroupCommit);
  }

  /** All metrics, in Prometheus's text format, version 0.0.4. */
  metrics(): Promise<string> {
    return this.counted.registry.metrics();
  }

  onApplicationShutdown(): void {
    this.counted.close();
  }

  private async isStoreUp(): Promise<boolean> {
    const { store } = await this.checkStore();
    return store.status === 'up';
  }

  private checkLifecycle(): HealthIndicatorResult {
    const { phase } = this.lifecycle;
    const indicator = this.indicators.check('lifecycle');
    return phase === 'serving' ? indicator.up({ phase }) : indicator.down({ phase });
  }

  /** What the error says may name the store's host, which whoever may ask here may know. */
  private async checkStore(): Promise<HealthIndicatorResult<'store'>> {
    const indicator = this.indicators.check('store');
    if (!this.app) return indicator.down('not open yet');
    try {
      const plants = this.app.get(PlantsRepository);
      await this.app.get(StoreHealth).assertAvailable(() => plants.probe());
      return indicator.up();
    } catch (error) {
      return indicator.down(describeError(error));
    }
  }

  private checkQueue(): HealthIndicatorResult {
    const { queued = 0, isFull = false } = this.plants ?? {};
    const indicator = this.indicators.check('queue');
    const plants = { plants: queued, bound: MAX_QUEUED };
    return isFull ? indicator.down(plants) : indicator.up(plants);
  }
}
