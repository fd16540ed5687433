import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Writer } from '../../database/engine.js';
import { describeError } from '../../errors/operator-message.js';

const WRITE_INTERVAL_MS = 10_000;

/** Records when each token was last used. The database is written in the background, never on a request. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  /** By the token's id, when it was last used in milliseconds since 1970. */
  private readonly used = new Map<number, number>();
  private readonly timer = setInterval(() => void this.write(), WRITE_INTERVAL_MS).unref();

  constructor(private readonly writer: Writer) {}

  record(id: number): void {
    this.used.set(id, Date.now());
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  private async write(): Promise<void> {
    if (this.used.size === 0) return;
    const uses = JSON.stringify([...this.used]);
    this.used.clear();
    try {
      const sql = this.writer.statements.recordUses('tokens', 'last_used_at');
      await this.writer.query(sql, [uses]);
    } catch (error) {
      // A failure to record it fails no request.
      this.logger.warn(`times of last use were not written: ${describeError(error)}`);
    }
  }
}
