import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Config } from '../config/config.js';
import { engineOf } from '../database/engine-of.js';
import { QUEUE_BOUND } from '../plants/plant-queue.js';
import { VERSION } from '../version.js';
import { Distribution } from './distribution.js';
import { expose, one, type MetricValue } from './expose.js';
import { DURATIONS, RequestCounts } from './request-counts.js';
import { METRICS, type MetricKind } from './table.js';

/** Plants; a group has at most 512. */
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Node's gauges whose names are those of counters: sums of others that are there. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/** What is looked at only when it is asked for. */
export interface Gauges {
  /** How many plants wait for a commit. */
  queued(): number;
  /** Whether the store takes writes. */
  isStoreUp(): Promise<boolean>;
}

/** What a process counts of its work, for Prometheus. */
export class Metrics {
  readonly registry = new Registry();
  readonly requests = new RequestCounts();
  private stored = 0;
  private commitFailures = 0;
  private readonly tokens = { hit: 0, miss: 0 };
  private readonly groups = new Distribution(GROUPS);
  private readonly commits = new Distribution(DURATIONS);

  constructor(config: Pick<Config, 'databaseUrl'>, gauges: Gauges) {
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    this.add(METRICS.REQUESTS, () => this.requests.counts());
    this.add(METRICS.DURATION, ({ name }) => this.requests.durationsOf(name));
    this.add(METRICS.STORED, () => one(this.stored));
    this.add(METRICS.GROUP, ({ name }) => this.groups.values(name));
    this.add(METRICS.COMMIT, ({ name }) => this.commits.values(name));
    this.add(METRICS.COMMIT_FAILURES, () => one(this.commitFailures));
    this.add(METRICS.QUEUE, () => one(gauges.queued()));
    this.add(METRICS.QUEUE_BOUND, () => one(QUEUE_BOUND));
    this.add(METRICS.TOKEN_CACHE, () =>
      Object.entries(this.tokens).map(([result, value]) => ({ labels: { result }, value })),
    );
    this.add(METRICS.STORE_UP, async () => one(Number(await gauges.isStoreUp())));
    const { system: engine } = engineOf(config.databaseUrl);
    const labels = { version: VERSION, node: process.version, engine };
    this.add(METRICS.BUILD, () => [{ labels, value: 1 }]);
  }

  /**
   * A group was committed.
   *
   * @param plants how many it had
   * @param duration milliseconds
   */
  onCommit(plants: number, duration: number): void {
    this.groups.observe(plants);
    this.commits.observe(duration / 1_000);
  }

  /** A commit failed. */
  onCommitFailure(): void {
    this.commitFailures += 1;
  }

  /** So many plants were written that were not there before. */
  onStored(plants: number): void {
    this.stored += plants;
  }

  /** A token was looked for in the cache. */
  onTokenLookup(result: 'hit' | 'miss'): void {
    this.tokens[result] += 1;
  }

  private add<Kind extends MetricKind>(
    kind: Kind,
    values: (kind: Kind) => MetricValue[] | Promise<MetricValue[]>,
  ): void {
    expose(this.registry, kind, () => values(kind));
  }
}
