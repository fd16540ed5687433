import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './service.js';

/** Milliseconds without trouble after which the service counts as back; and how long that may take. */
const QUIET = 700;
const PATIENCE = 60_000;

/** Follows the answers from a disturbance on; times are those of `performance.now()`. */
export class Outage {
  private last200 = performance.now();
  private without200 = 0;
  private first: number | undefined;
  private last: number | undefined;

  note(is200: boolean): void {
    const now = performance.now();
    if (is200) {
      this.without200 = Math.max(this.without200, now - this.last200);
      this.last200 = now;
    } else {
      this.first ??= now;
      this.last = now;
    }
  }

  /**
   * Resolves once a 200 came since a time, and nothing else for a while.
   *
   * @throws Error where the service has ended, or does not come back
   */
  async over(since: number, service: Service): Promise<void> {
    const isOver = (): boolean =>
      this.last200 > since && performance.now() - Math.max(since, this.last ?? 0) > QUIET;
    while (!isOver()) {
      if (!service.lives) throw new Error('the service has ended');
      if (performance.now() - since > PATIENCE) throw new Error('the service does not recover');
      await sleep(20);
    }
  }

  get result(): { without200: number; span: number } {
    return { without200: this.without200, span: (this.last ?? 0) - (this.first ?? 0) };
  }
}
