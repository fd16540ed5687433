import cluster, { type Worker } from 'node:cluster';
import { Registry } from 'prom-client';
import { expose, one } from '../metrics/expose.js';
import { PRIMARY_METRICS } from '../metrics/table.js';
import { cumulative, mergeMetrics, type MetricData } from './merge-metrics.js';
import type { Panel } from './panel.js';

/**
 * The metrics of all workers as one. What counts up goes on doing so when a worker ends, or is too late
 * to answer: its part stays as it was last seen. A sum that fell would look to Prometheus like a
 * counter that began anew, and all of it would be counted again (prometheus.io/docs, rate()).
 */
export class WorkerMetrics {
  private readonly own = new Registry();
  private readonly last = new Map<Worker, MetricData[]>();
  private departed: MetricData[] = [];
  private answered = 0;
  private ends = 0;

  constructor(private readonly panel: Panel) {
    const started = Math.round(Date.now() / 1_000 - process.uptime());
    expose(this.own, PRIMARY_METRICS.START, () => one(started));
    expose(this.own, PRIMARY_METRICS.WORKERS, () => one(this.answered));
    expose(this.own, PRIMARY_METRICS.WORKER_ENDS, () => one(this.ends));
    cluster.on('exit', (worker) => this.onEnd(worker));
  }

  /** In Prometheus's text format. */
  async metrics(): Promise<string> {
    const answers = await this.panel.ask('metrics');
    this.answered = [...answers.values()].filter((answer) => answer !== undefined).length;
    const own = await this.own.getMetricsAsJSON();
    // From here on nothing is waited for: a worker is among those that answered, the late or the departed.
    for (const [worker, answer] of answers) {
      if (worker.isDead()) answers.delete(worker);
      else if (answer) this.last.set(worker, answer);
    }
    const late = [...this.last].filter(([worker]) => !answers.get(worker));
    const given = [...answers.values()].filter((answer) => answer !== undefined);
    // The first to have a metric says how it is merged: the workers' start times would be left out.
    const all = [own, ...given, ...late.map(([, last]) => cumulative(last)), this.departed];
    return mergeMetrics(all).metrics();
  }

  private onEnd(worker: Worker): void {
    this.ends += 1;
    const last = this.last.get(worker);
    if (!last) return;
    this.last.delete(worker);
    this.departed = mergeMetrics([
      this.departed,
      cumulative(last),
    ]).getMetricsAsArray() as MetricData[];
  }
}
