import type { Aggregator, MetricType } from 'prom-client';

/** A row of the table of metrics. */
export interface MetricKind {
  readonly name: string;
  readonly type: `${MetricType}`;
  readonly labels: readonly string[];
  readonly help: string;
  /** How the values of several workers become one. */
  readonly aggregator: Aggregator;
}

/**
 * Every metric of ours, besides Node's own. `docs/monitoring.md` shows the table to users, and a test
 * holds the two together. Names are as Prometheus has them (prometheus.io/docs/practices/naming).
 */
export const METRICS = {
  REQUESTS: {
    name: 'plant_store_requests_total',
    type: 'counter',
    labels: ['status', 'error'],
    help: 'Requests that have ended, by the status and the error number of their answer.',
    aggregator: 'sum',
  },
  DURATION: {
    name: 'plant_store_request_duration_seconds',
    type: 'histogram',
    labels: ['status'],
    help: 'Time from the headers of a request to the end of its answer.',
    aggregator: 'sum',
  },
  STORED: {
    name: 'plant_store_plants_stored_total',
    type: 'counter',
    labels: [],
    help: 'Plants written to the store; a repeat is not written again.',
    aggregator: 'sum',
  },
  GROUP: {
    name: 'plant_store_commit_group_plants',
    type: 'histogram',
    labels: [],
    help: 'Plants that shared a commit.',
    aggregator: 'sum',
  },
  COMMIT: {
    name: 'plant_store_commit_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time that a commit took, with the look at ids that were taken.',
    aggregator: 'sum',
  },
  COMMIT_FAILURES: {
    name: 'plant_store_commit_failures_total',
    type: 'counter',
    labels: [],
    help: 'Commits that failed; of one that fails for a single plant, the halves are tried again.',
    aggregator: 'sum',
  },
  QUEUE: {
    name: 'plant_store_queue_plants',
    type: 'gauge',
    labels: [],
    help: 'Plants that wait for a commit.',
    aggregator: 'sum',
  },
  QUEUE_BOUND: {
    name: 'plant_store_queue_bound_plants',
    type: 'gauge',
    labels: [],
    help: 'Plants that may wait at the most; past that, requests are answered with 503.',
    aggregator: 'sum',
  },
  TOKEN_CACHE: {
    name: 'plant_store_token_cache_lookups_total',
    type: 'counter',
    labels: ['result'],
    help: "The service's own tokens looked for in the cache: hit, or miss, for which the store is asked.",
    aggregator: 'sum',
  },
  STORE_UP: {
    name: 'plant_store_store_up',
    type: 'gauge',
    labels: [],
    help: 'Whether the store takes writes: 1, or 0.',
    aggregator: 'min',
  },
  BUILD: {
    name: 'plant_store_build_info',
    type: 'gauge',
    labels: ['version', 'node', 'engine'],
    help: 'Always 1; the labels tell the version, that of Node.js, and the engine of the store.',
    aggregator: 'first',
  },
} as const satisfies Record<string, MetricKind>;

/** What the primary process adds, where there are several workers. */
export const PRIMARY_METRICS = {
  WORKERS: {
    name: 'plant_store_workers',
    type: 'gauge',
    labels: [],
    help: 'Workers that answered the primary process.',
    aggregator: 'sum',
  },
  WORKER_ENDS: {
    name: 'plant_store_worker_ends_total',
    type: 'counter',
    labels: [],
    help: 'Workers that ended unasked; each is started again.',
    aggregator: 'sum',
  },
  START: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    labels: [],
    help: 'Start time of the primary process since the Unix epoch.',
    aggregator: 'first',
  },
} as const satisfies Record<string, MetricKind>;
