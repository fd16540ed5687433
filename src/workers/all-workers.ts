import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import type { Monitored } from '../management/monitored.js';
import { Panel } from './panel.js';
import { WorkerMetrics } from './worker-metrics.js';

/** The processes that serve, as their primary process sees them. */
export class AllWorkers implements Monitored {
  private readonly indicators = new HealthIndicatorService();
  private readonly panel = new Panel();
  private readonly collected = new WorkerMetrics(this.panel);
  /** Those who ask at once share the answers. */
  private asked: Promise<HealthIndicatorResult> | undefined;
  private scraped: Promise<string> | undefined;

  /** @param count how many workers there are to be */
  constructor(private readonly count: number) {}

  health(): Promise<HealthIndicatorResult> {
    this.asked ??= this.askWorkers().finally(() => (this.asked = undefined));
    return this.asked;
  }

  metrics(): Promise<string> {
    this.scraped ??= this.collected.metrics().finally(() => (this.scraped = undefined));
    return this.scraped;
  }

  /** One that is ready will do. */
  private async askWorkers(): Promise<HealthIndicatorResult> {
    const answers = [...(await this.panel.ask('health')).values()];
    const failed = answers.map((health) => (health ? failedChecks(health) : ['answer']));
    const ready = failed.filter((checks) => checks.length === 0).length;
    const found = { ready, count: this.count, failed: [...new Set(failed.flat())] };
    const indicator = this.indicators.check('workers');
    return ready > 0 ? indicator.up(found) : indicator.down(found);
  }
}

function failedChecks(health: HealthIndicatorResult): string[] {
  return Object.keys(health).filter((check) => health[check]?.status === 'down');
}
