import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { COMMIT, VERSION } from '../config/config.js';
import { ERRORS } from '../errors/error-codes.js';
import { requestEnd, type RequestContext } from '../http/request-context.js';
import { certificateUsed } from '../lifecycle/tls.js';
import { commits, MAX_QUEUED, type Commit } from '../plants/group-commit.js';
import type { ServiceState } from './service-state.js';

/** Buckets in seconds; a plant takes a millisecond or two, and DATABASE_TIMEOUT is 5 s by default. */
const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the metrics of the process (docs/monitoring.md), named by Prometheus's conventions. */
export function createMetrics(state: ServiceState): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  new Gauge({
    name: 'plant_store_build_info',
    labelNames: ['version', 'commit'],
    help: 'Always 1; the labels tell the version and its commit.',
    registers,
  }).set({ version: VERSION, commit: COMMIT }, 1);
  countRequests(registers);
  countCommits(registers);
  addGauges(registers, state);
  return registry;
}

function countRequests(registers: Registry[]): void {
  const requests = new Counter({
    name: 'plant_store_requests_total',
    labelNames: ['status', 'error'],
    help: 'Requests that have ended.',
    registers,
  });
  const durations = new Histogram({
    name: 'plant_store_request_duration_seconds',
    labelNames: ['status'],
    help: 'Time from the headers of a request to the end of its response.',
    buckets: DURATIONS,
    registers,
  });
  requestEnd.subscribe((context) => {
    // If there is no status, the client left before its response.
    const { status = 'none', error = 'none', startedAt } = context as RequestContext;
    requests.inc({ status, error });
    durations.observe({ status }, measureSeconds(startedAt));
  });
  // Prometheus's rate() ignores the first value of a series.
  for (const status of [200, 'none']) requests.inc({ status, error: 'none' }, 0);
  for (const { status, error } of Object.values(ERRORS)) requests.inc({ status, error }, 0);
}

function countCommits(registers: Registry[]): void {
  const stored = new Counter({
    name: 'plant_store_plants_stored_total',
    help: 'Plants written to the store; a repeat is not written again.',
    registers,
  });
  const groups = new Histogram({
    name: 'plant_store_commit_group_plants',
    help: 'Plants that shared a commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, MAX_QUEUED],
    registers,
  });
  const durations = new Histogram({
    name: 'plant_store_commit_duration_seconds',
    help: 'Time that a commit took, with the lookup if an id was taken.',
    buckets: DURATIONS,
    registers,
  });
  const failures = new Counter({
    name: 'plant_store_commit_failures_total',
    help: 'Commits that failed; of one that fails for a single plant, the halves are tried again.',
    registers,
  });
  commits.error.subscribe(() => failures.inc());
  commits.asyncEnd.subscribe((commit) => {
    const { plants, startedAt, result } = commit as Commit;
    if (!result) return;
    stored.inc(result.inserted);
    groups.observe(plants.length);
    durations.observe(measureSeconds(startedAt));
  });
}

type Value = number | boolean | Date | undefined;

/** Adds gauges that are read at each scrape. One without a value is absent: 0 would be a time, in 1970. */
function addGauges(registers: Registry[], state: ServiceState): void {
  const add = (name: string, help: string, read: () => Value | Promise<Value>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        const value = await read();
        if (value === undefined) this.remove();
        else this.set(value instanceof Date ? value.getTime() / 1_000 : Number(value));
      },
    });
  let certificateEnd: Date | undefined;
  certificateUsed.subscribe((expiresAt) => (certificateEnd = expiresAt as Date));

  add('plant_store_queue_plants', 'Plants that wait for a commit.', () => state.queued);
  add('plant_store_queue_bound_plants', 'Queue size at which requests get 503.', () => MAX_QUEUED);
  add('plant_store_store_up', 'Whether the store takes writes: 1, or 0.', () => state.isStoreUp());
  add(
    'plant_store_token_expires_seconds',
    'When the first active token without a successor expires, in seconds since 1970; absent if none is known.',
    () => state.findTokenExpiry(),
  );
  add(
    'plant_store_last_backup_timestamp_seconds',
    'When the last backup of the store was finished, in seconds since 1970; absent if none is known.',
    () => state.findLastBackup(),
  );
  add(
    'plant_store_tls_certificate_expires_seconds',
    'When the certificate in use expires, in seconds since 1970; absent without TLS.',
    () => certificateEnd,
  );
}

/** @param startedAt by performance.now() */
function measureSeconds(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
