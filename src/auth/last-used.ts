import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { WritePath } from '../database/engine.js';
import { describeError } from '../errors/describe.js';

/** Milliseconds between two writes of the times of last use. */
const WRITE_INTERVAL_MS = 10_000;

/**
 * Sets when tokens were last used. PostgreSQL locks the rows in order first: services that record one token's use at
 * once take turns.
 */
const RECORD = {
  sqlite: `
    UPDATE tokens SET last_used_at = uses.value->>1
    FROM json_each(?) AS uses WHERE tokens.id = uses.value->>0`,
  postgres: `
    WITH uses AS (SELECT id, time FROM unnest($1::integer[], $2::bigint[]) AS used (id, time)),
    locked AS (SELECT id FROM tokens WHERE id = ANY($1::integer[]) ORDER BY id FOR UPDATE)
    UPDATE tokens SET last_used_at = GREATEST(last_used_at, uses.time)
    FROM uses JOIN locked USING (id) WHERE tokens.id = uses.id`,
};

/** Records when each token was last used; it is written to the store in the background, never on a request. */
@Injectable()
export class LastUsed implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  private used = new Map<number, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly store: WritePath) {}

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
      await recordLastUsed(this.store.manager, uses);
    } catch (error) {
      // A time of last use is worth a line in the log, not a request.
      this.logger.warn(`times of last use were not written: ${describeError(error)}`);
    }
  }
}

/**
 * Sets when tokens were last used, in milliseconds since 1970.
 *
 * @throws the store's error
 */
async function recordLastUsed(
  manager: EntityManager,
  uses: readonly (readonly [id: number, time: number])[],
): Promise<void> {
  if (manager.dataSource.options.type !== 'postgres') {
    await manager.query(RECORD.sqlite, [JSON.stringify(uses)]);
    return;
  }
  const columns = [uses.map(([id]) => id), uses.map(([, time]) => time)];
  await manager.query(RECORD.postgres, columns);
}
