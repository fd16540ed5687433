import type { INestApplicationContext } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/describe.js';
import { StoreProbe } from '../database/store-probe.js';
import type { Lifecycle } from '../lifecycle.js';
import { Metrics } from '../metrics/metrics.js';
import { QUEUE_BOUND } from '../plants/plant-queue.js';
import { PlantWriter } from '../plants/plant-writer.js';

/** The process that serves. It is looked at from its start on, when there is no store and no app yet. */
export class ThisProcess {
  private readonly indicators = new HealthIndicatorService();
  /** What the app counts. */
  readonly counted: Metrics;
  private parts: { readonly store: StoreProbe; readonly writer: PlantWriter } | undefined;

  constructor(
    config: Config,
    private readonly lifecycle: Lifecycle,
  ) {
    this.counted = new Metrics(config, {
      queued: () => this.parts?.writer.queued ?? 0,
      isStoreUp: () => this.isStoreUp(),
    });
  }

  /** The outcome of each check that must be well for requests to be sent here. */
  async health(): Promise<HealthIndicatorResult> {
    return { ...this.checkLifecycle(), ...(await this.checkStore()), ...this.checkQueue() };
  }

  /** From here on the app is there to be looked at. */
  attach(app: INestApplicationContext): void {
    this.parts = { store: app.get(StoreProbe), writer: app.get(PlantWriter) };
  }

  /** All metrics, in Prometheus's text format, version 0.0.4. */
  metrics(): Promise<string> {
    return this.counted.registry.metrics();
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
    if (!this.parts) return indicator.down('not open yet');
    try {
      await this.parts.store.check();
      return indicator.up();
    } catch (error) {
      return indicator.down(describeError(error));
    }
  }

  private checkQueue(): HealthIndicatorResult {
    const { queued = 0, isFull = false } = this.parts?.writer ?? {};
    const indicator = this.indicators.check('queue');
    const plants = { plants: queued, bound: QUEUE_BOUND };
    return isFull ? indicator.down(plants) : indicator.up(plants);
  }
}
