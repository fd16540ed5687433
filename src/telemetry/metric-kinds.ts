import type { MetricType } from 'prom-client';

/** A row of the table of metrics. */
export interface MetricKind {
  readonly name: string;
  readonly type: `${MetricType}`;
  readonly labels: readonly string[];
  readonly help: string;
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
  },
  DURATION: {
    name: 'plant_store_request_duration_seconds',
    type: 'histogram',
    labels: ['status'],
    help: 'Time from the headers of a request to the end of its answer.',
  },
  STORED: {
    name: 'plant_store_plants_stored_total',
    type: 'counter',
    labels: [],
    help: 'Plants written to the store; a repeat is not written again.',
  },
  GROUP: {
    name: 'plant_store_commit_group_plants',
    type: 'histogram',
    labels: [],
    help: 'Plants that shared a commit.',
  },
  COMMIT: {
    name: 'plant_store_commit_duration_seconds',
    type: 'histogram',
    labels: [],
    help: 'Time that a commit took, with the lookup of ids that were taken.',
  },
  COMMIT_FAILURES: {
    name: 'plant_store_commit_failures_total',
    type: 'counter',
    labels: [],
    help: 'Commits that failed; of one that fails for a single plant, the halves are tried again.',
  },
  QUEUE: {
    name: 'plant_store_queue_plants',
    type: 'gauge',
    labels: [],
    help: 'Plants that wait for a commit.',
  },
  QUEUE_BOUND: {
    name: 'plant_store_queue_bound_plants',
    type: 'gauge',
    labels: [],
    help: 'Plants that may wait at most; past that, requests are answered with 503.',
  },
  TOKEN_CACHE: {
    name: 'plant_store_token_cache_lookups_total',
    type: 'counter',
    labels: ['result'],
    help: "The service's own tokens looked for in the cache: hit, or miss, for which the store is asked.",
  },
  STORE_UP: {
    name: 'plant_store_store_up',
    type: 'gauge',
    labels: [],
    help: 'Whether the store takes writes: 1, or 0.',
  },
  BUILD: {
    name: 'plant_store_build_info',
    type: 'gauge',
    labels: ['version', 'node', 'engine'],
    help: 'Always 1; the labels tell the version, that of Node.js, and the engine of the store.',
  },
} as const satisfies Record<string, MetricKind>;
