import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from '../../test/support/postgres-server.js';
import { query } from '../../bench/postgres.js';
import { discard, emptyServer, newServer } from './servers.js';
import { makeStandby, STANDBY } from './standby.js';

/** A primary and its synchronous standby, two servers that change places with each failover. */
export class Pair {
  private constructor(
    public primary: PostgresServer,
    public other: PostgresServer,
  ) {}

  static async start(): Promise<Pair> {
    const pair = new Pair(await newServer(), await emptyServer());
    await pair.join();
    return pair;
  }

  /** Makes the standby the primary; the old one is dead, and the other from now on. */
  async promote(): Promise<void> {
    const url = this.other.url();
    const [row] = await query<{ promoted: boolean }>(url, 'SELECT pg_promote() AS promoted');
    if (!row?.promoted) throw new Error('the standby was not promoted');
    await query(url, 'ALTER SYSTEM RESET primary_conninfo');
    [this.primary, this.other] = [this.other, this.primary];
  }

  /** Starts the old primary as it was when it died. */
  raise(): Promise<void> {
    return this.other.start();
  }

  /** Starts the old primary anew, so that it only reads. */
  async raiseReadOnly(): Promise<void> {
    await this.other.stop();
    writeFileSync(join(this.other.data, 'standby.signal'), '');
    await this.other.start();
  }

  /** The old primary is copied anew from the primary, and becomes its synchronous standby. */
  async renew(): Promise<void> {
    await this.other.stop();
    rmSync(this.other.data, { recursive: true });
    await this.join();
  }

  async discard(): Promise<void> {
    await discard(this.other);
    await discard(this.primary);
  }

  /** Makes the other a standby, and lets no commit end any more that is not on both. */
  private async join(): Promise<void> {
    await makeStandby(this.primary, this.other);
    await this.other.start();
    const url = this.primary.url();
    await query(url, `ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await query(url, 'SELECT pg_reload_conf()');
    while (!(await isSynchronous(url))) await sleep(50);
  }
}

async function isSynchronous(url: string): Promise<boolean> {
  const sql = 'SELECT FROM pg_stat_replication WHERE application_name = $1 AND sync_state = $2';
  return (await query(url, sql, [STANDBY, 'sync'])).length > 0;
}
