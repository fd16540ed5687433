import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { tokenLookups, type TokenLookupEvent } from '../auth/channels.js';
import { VERSION, type Config } from '../config/config.js';
import { engineOf } from '../database/open-store.js';
import { ERRORS } from '../errors/errors.js';
import { exchangeEnd, type Exchange } from '../http/exchange.js';
import { commits, type Commit } from '../plants/channels.js';
import { MAX_QUEUED } from '../plants/plant-queue.js';
import { METRICS, type MetricKind } from './metric-kinds.js';

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

/** What a process counts of the work of an application, for Prometheus. */
export class Metrics {
  readonly registry = new Registry();
  private readonly requests: Counter;
  private readonly durations: Histogram;
  private readonly stored: Counter;
  private readonly groups: Histogram;
  private readonly commits: Histogram;
  private readonly commitFailures: Counter;
  private readonly tokens: Counter;

  /** @param config that of the application: channels are those of the process */
  constructor(
    private readonly config: Config,
    gauges: Gauges,
  ) {
    collectDefaultMetrics({ register: this.registry });
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    const of = ({ name, help, labels }: MetricKind) => {
      return { name, help, labelNames: [...labels], registers: [this.registry] };
    };
    this.requests = new Counter(of(METRICS.REQUESTS));
    this.durations = new Histogram({ ...of(METRICS.DURATION), buckets: DURATIONS });
    this.stored = new Counter(of(METRICS.STORED));
    this.groups = new Histogram({ ...of(METRICS.GROUP), buckets: GROUPS });
    this.commits = new Histogram({ ...of(METRICS.COMMIT), buckets: DURATIONS });
    this.commitFailures = new Counter(of(METRICS.COMMIT_FAILURES));
    new Gauge({
      ...of(METRICS.QUEUE),
      collect() {
        this.set(gauges.queued());
      },
    });
    new Gauge(of(METRICS.QUEUE_BOUND)).set(MAX_QUEUED);
    this.tokens = new Counter(of(METRICS.TOKEN_CACHE));
    new Gauge({
      ...of(METRICS.STORE_UP),
      async collect() {
        this.set(Number(await gauges.isStoreUp()));
      },
    });
    const { system: engine } = engineOf(config.databaseUrl);
    new Gauge(of(METRICS.BUILD)).set({ version: VERSION, node: process.version, engine }, 1);
    this.beginAtZero();
    exchangeEnd.subscribe((message) => this.onExchangeEnd(message as Exchange));
    tokenLookups.subscribe((message) => this.onTokenLookup(message as TokenLookupEvent));
    // A commit that fails is told of twice: as an error, and at its end.
    commits.error.subscribe((message) => this.onCommitFailure(message as Commit));
    commits.asyncEnd.subscribe((message) => this.onCommitEnd(message as Commit));
  }

  /** One whose client has left has no status, and what is no Error has no number. */
  private onExchangeEnd({ config, status, error, startedAt }: Exchange): void {
    if (config !== this.config) return;
    const labels = labelsOf(status, error);
    this.requests.inc(labels);
    this.durations.observe({ status: labels.status }, secondsSince(startedAt));
  }

  private onCommitEnd({ config, plants, startedAt, inserted, error }: Commit): void {
    if (config !== this.config) return;
    this.stored.inc(inserted);
    if (error !== undefined) return;
    this.groups.observe(plants.length);
    this.commits.observe(secondsSince(startedAt));
  }

  private onCommitFailure({ config }: Commit): void {
    if (config === this.config) this.commitFailures.inc();
  }

  private onTokenLookup({ config, result }: TokenLookupEvent): void {
    if (config === this.config) this.tokens.inc({ result });
  }

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
