import type { Logger } from 'pino';

/** Milliseconds between two lines. */
const INTERVAL = 1_000;

/**
 * Sums up the requests that an overloaded service refuses: a line for each would cost more than the
 * refusal, just when there is no time for it.
 */
export class RefusalLog {
  private refused = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /** A request was refused. */
  note(): void {
    this.refused += 1;
    this.timer ??= setTimeout(() => this.write(), INTERVAL).unref();
  }

  private write(): void {
    const { refused } = this;
    this.refused = 0;
    this.timer = undefined;
    this.logger.error({ context: 'Request', refused }, 'overloaded: requests were refused');
  }
}
