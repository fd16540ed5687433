import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { tokenLookups, type TokenLookupEvent } from '../auth/channels.js';
import { VERSION, type Config } from '../config/config.js';
import { selectEngine } from '../database/open-store.js';
import { ERRORS } from '../errors/errors.js';
import { exchangeEnd, type Exchange } from '../http/exchange.js';
import { commits, type Commit } from '../plants/channels.js';
import { MAX_QUEUED } from '../plants/plant-queue.js';
import { subscribe } from './subscribe.js';

/** Plants; a group has at most 512. */
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
/** Seconds; a plant takes a millisecond or two, and DATABASE_TIMEOUT is 5 s by default. */
const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Node's gauges whose names are those of counters: sums of others that are there. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`);

/** What is looked at only when it is asked for. */
interface Gauges {
  /** How many plants wait for a commit. */
  queued(): number;
  /** Whether the store takes writes. */
  isStoreUp(): Promise<boolean>;
}

/**
 * What a process counts of the work of an application, for Prometheus. `docs/monitoring.md` shows the table of its
 * metrics to users, and a test holds the two together. Names are as Prometheus has them
 * (prometheus.io/docs/practices/naming).
 */
export class Metrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly requests = new Counter({
    name: 'plant_store_requests_total',
    labelNames: ['status', 'error'],
    help: 'Requests that have ended, by the status and the error number of their answer.',
    registers: this.registers,
  });
  private readonly durations = new Histogram({
    name: 'plant_store_request_duration_seconds',
    labelNames: ['status'],
    help: 'Time from the headers of a request to the end of its answer.',
    buckets: DURATIONS,
    registers: this.registers,
  });
  private readonly stored = new Counter({
    name: 'plant_store_plants_stored_total',
    help: 'Plants written to the store; a repeat is not written again.',
    registers: this.registers,
  });
  private readonly groups = new Histogram({
    name: 'plant_store_commit_group_plants',
    help: 'Plants that shared a commit.',
    buckets: GROUPS,
    registers: this.registers,
  });
  private readonly commits = new Histogram({
    name: 'plant_store_commit_duration_seconds',
    help: 'Time that a commit took, with the lookup of ids that were taken.',
    buckets: DURATIONS,
    registers: this.registers,
  });
  private readonly commitFailures = new Counter({
    name: 'plant_store_commit_failures_total',
    help: 'Commits that failed; of one that fails for a single plant, the halves are tried again.',
    registers: this.registers,
  });
  private readonly tokens = new Counter({
    name: 'plant_store_token_cache_lookups_total',
    labelNames: ['result'],
    help: "The service's own tokens looked for in the cache: hit, or miss, for which the store is asked.",
    registers: this.registers,
  });
  private readonly subscriptions: readonly (() => void)[];

  /** @param config that of the application */
  constructor(config: Config, gauges: Gauges) {
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    this.addGauges(config, gauges);
    this.beginAtZero();
    this.subscriptions = [
      subscribe(exchangeEnd, config, this.onExchangeEnd),
      subscribe(tokenLookups, config, this.onTokenLookup),
      // A commit that fails is told of twice: as an error, and at its end.
      subscribe(commits.error, config, () => this.commitFailures.inc()),
      subscribe(commits.asyncEnd, config, this.onCommitEnd),
    ];
  }

  /** Counts no more. */
  close(): void {
    for (const unsubscribe of this.subscriptions) unsubscribe();
  }

  private addGauges(config: Config, gauges: Gauges): void {
    const { registers } = this;
    new Gauge({
      name: 'plant_store_queue_plants',
      help: 'Plants that wait for a commit.',
      registers,
      collect() {
        this.set(gauges.queued());
      },
    });
    new Gauge({
      name: 'plant_store_queue_bound_plants',
      help: 'Plants that may wait at most; past that, requests are answered with 503.',
      registers,
    }).set(MAX_QUEUED);
    new Gauge({
      name: 'plant_store_store_up',
      help: 'Whether the store takes writes: 1, or 0.',
      registers,
      async collect() {
        this.set(Number(await gauges.isStoreUp()));
      },
    });
    const { system: engine } = selectEngine(config.databaseUrl);
    new Gauge({
      name: 'plant_store_build_info',
      labelNames: ['version', 'node', 'engine'],
      help: 'Always 1; the labels tell the version, that of Node.js, and the engine of the store.',
      registers,
    }).set({ version: VERSION, node: process.version, engine }, 1);
  }

  /** One whose client has left has no status, and what is no Error has no number. */
  private readonly onExchangeEnd = ({ status, error, startedAt }: Exchange): void => {
    const labels = labelsOf(status, error);
    this.requests.inc(labels);
    this.durations.observe({ status: labels.status }, secondsSince(startedAt));
  };

  private readonly onCommitEnd = ({ plants, startedAt, inserted, error }: Commit): void => {
    this.stored.inc(inserted);
    if (error !== undefined) return;
    this.groups.observe(plants.length);
    this.commits.observe(secondsSince(startedAt));
  };

  private readonly onTokenLookup = ({ result }: TokenLookupEvent): void => {
    this.tokens.inc({ result });
  };

  /** rate() does not see the value that a series begins with. */
  private beginAtZero(): void {
    const errors = Object.values(ERRORS).map(({ status, error }) => labelsOf(status, error));
    for (const labels of [labelsOf(200), ...errors, labelsOf()]) {
      this.requests.inc(labels, 0);
      this.durations.zero({ status: labels.status });
    }
    for (const result of ['hit', 'miss']) this.tokens.inc({ result }, 0);
  }
}

/** The table of errors and its statuses bound how many there are. */
function labelsOf(status?: number, error?: number) {
  return { status: String(status ?? 'none'), error: String(error ?? 'none') };
}

/** @param time by performance.now() */
function secondsSince(time: number): number {
  return (performance.now() - time) / 1_000;
}
