import type { Logger } from 'pino';

/** Lines a second for each error number. */
export const LINES = 10;
/** Milliseconds. */
const INTERVAL = 1_000;

type Level = 'info' | 'error';

/** The failures of one error number in the second that runs. */
interface Failures {
  readonly level: Level;
  count: number;
}

/**
 * Bounds the lines of requests that failed, which strangers cause too: they could fill the disk, and
 * a line costs more than to refuse an overload. What is beyond is summed up, for each error number.
 */
export class FailureLimit {
  private readonly failures = new Map<number | undefined, Failures>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /** Whether a request that failed has a line of its own; if not, it is in the sum of this second. */
  admits(level: Level, error: number | undefined): boolean {
    let failures = this.failures.get(error);
    if (!failures) this.failures.set(error, (failures = { level, count: 0 }));
    failures.count += 1;
    if (!this.timer) this.begin();
    return failures.count <= LINES;
  }

  private begin(): void {
    this.timer = setTimeout(this.end, INTERVAL).unref();
    // The sums of the last second are not lost.
    process.once('exit', this.end);
  }

  private readonly end = (): void => {
    process.off('exit', this.end);
    this.timer = undefined;
    for (const [error, { level, count }] of this.failures) {
      const line = { context: 'Request', error, requests: count - LINES };
      if (line.requests > 0) this.logger[level](line, 'more requests failed, without lines');
    }
    this.failures.clear();
  };
}
