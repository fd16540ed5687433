import { ERRORS } from '../errors/errors.js';
import type { Exchange, ExchangeObserver } from '../http/exchange.js';
import { Distribution } from './distribution.js';
import type { MetricValue } from './expose.js';

/** Seconds; a plant takes a millisecond or two, and DATABASE_TIMEOUT is 5 s by default. */
export const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Greater than every error number. */
const NUMBERS = 10_000;

interface Outcome {
  readonly labels: Readonly<Record<'status' | 'error', string>>;
  count: number;
  /** Shared by all outcomes of the status. */
  readonly durations: Distribution;
}

/** Counts requests by their outcome. The table of errors and its statuses bound how many there are. */
export class RequestCounts implements ExchangeObserver {
  private readonly outcomes = new Map<number, Outcome>();
  private readonly durations = new Map<string, Distribution>();

  /** What comes of requests is counted from 0 on: rate() does not see the value that a series begins with. */
  constructor() {
    this.add(200, 0);
    for (const { status, error } of Object.values(ERRORS)) this.add(status, error);
    this.add(0, 0);
  }

  onEnd({ status = 0, error = 0, startedAt }: Exchange): void {
    const key = keyOf(status, error);
    const outcome = this.outcomes.get(key) ?? this.add(status, error);
    outcome.count += 1;
    outcome.durations.observe((performance.now() - startedAt) / 1_000);
  }

  counts(): MetricValue[] {
    return [...this.outcomes.values()].map(({ labels, count }) => ({ labels, value: count }));
  }

  durationsOf(name: string): MetricValue[] {
    return [...this.durations].flatMap(([status, one]) => one.values(name, { status }));
  }

  /** A client that left has no status; what is no Error has no number. */
  private add(status: number, error: number): Outcome {
    const labels = { status: String(status || 'none'), error: String(error || 'none') };
    const durations = this.durations.get(labels.status) ?? new Distribution(DURATIONS);
    this.durations.set(labels.status, durations);
    const outcome = { labels, count: 0, durations };
    this.outcomes.set(keyOf(status, error), outcome);
    return outcome;
  }
}

function keyOf(status: number, error: number): number {
  return status * NUMBERS + error;
}
