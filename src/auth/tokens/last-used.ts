import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Writer } from '../../database/engine.js';
import { describeError } from '../../errors/operator-message.js';

const WRITE_INTERVAL_MS = 10_000;

/** From a JSON list of `[id, time]`. PostgreSQL locks the rows in order first: services with the same tokens take turns. */
const RECORD_USES = {
  sqlite: `UPDATE tokens SET last_used_at = uses.value->>1
    FROM json_each(?) AS uses WHERE tokens.id = uses.value->>0`,
  postgresql: `WITH uses AS (
      SELECT (use->>0)::integer AS id, (use->>1)::bigint AS time
      FROM json_array_elements($1) AS list (use)),
    locked AS (SELECT id FROM tokens WHERE id IN (SELECT id FROM uses) ORDER BY id FOR UPDATE)
    UPDATE tokens SET last_used_at = GREATEST(last_used_at, uses.time)
    FROM uses JOIN locked USING (id) WHERE tokens.id = uses.id`,
};

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
      await this.writer.query(RECORD_USES[this.writer.system], [uses]);
    } catch (error) {
      // A failure to record it fails no request.
      this.logger.warn(`times of last use were not written: ${describeError(error)}`);
    }
  }
}
