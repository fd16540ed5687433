import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { STORE_WRITER, type StoreWriter } from '../database/engine.js';

/** Milliseconds between two writes of the times of last use. */
const WRITE_INTERVAL_MS = 10_000;

/** Records when each token was last used; it is written to the store in the background, never on a request. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  private used = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(STORE_WRITER) private readonly store: StoreWriter) {}

  /** A token is used now. */
  record(id: number): void {
    this.used.set(id, Date.now());
    this.timer ??= setTimeout(() => void this.write(), WRITE_INTERVAL_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    await this.write();
  }

  private async write(): Promise<void> {
    const uses = [...this.used];
    this.used.clear();
    this.timer = undefined;
    if (uses.length === 0) return;
    try {
      await this.store.noteUses(uses);
    } catch (error) {
      // A time of last use is worth a line in the log, not a request.
      this.logger.warn(`times of last use were not written: ${String(error)}`);
    }
  }
}
