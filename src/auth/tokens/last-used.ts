import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Writer } from '../../database/engine.js';
import { describeError } from '../../errors/operator-message.js';

const WRITE_INTERVAL_MS = 10_000;

/** Ids of tokens, and when each was last used in milliseconds since 1970. */
type Uses = readonly (readonly [id: number, time: number])[];

/** PostgreSQL locks the rows in order first: services that record uses of the same tokens take turns. */
const RECORD_USES = {
  sqlite: (writer: Writer, uses: Uses) =>
    writer.query(
      `UPDATE tokens SET last_used_at = uses.value->>1
      FROM json_each(?) AS uses WHERE tokens.id = uses.value->>0`,
      [JSON.stringify(uses)],
    ),
  postgresql: (writer: Writer, uses: Uses) =>
    writer.query(
      `WITH uses AS (SELECT id, time FROM unnest($1::integer[], $2::bigint[]) AS used (id, time)),
      locked AS (SELECT id FROM tokens WHERE id = ANY($1::integer[]) ORDER BY id FOR UPDATE)
      UPDATE tokens SET last_used_at = GREATEST(last_used_at, uses.time)
      FROM uses JOIN locked USING (id) WHERE tokens.id = uses.id`,
      [uses.map(([id]) => id), uses.map(([, time]) => time)],
    ),
};

/** Records when each token was last used. The database is written in the background, never on a request. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  private used = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly writer: Writer) {}

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
      await RECORD_USES[this.writer.system](this.writer, uses);
    } catch (error) {
      // A failure to record it fails no request.
      this.logger.warn(`times of last use were not written: ${describeError(error)}`);
    }
  }
}
