import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Client } from 'pg';
import type { PostgresServer } from '../../test/support/postgres-server.js';

/** The name by which a standby is known to its primary. */
export const STANDBY = 'standby';

/** What a base backup leaves out (postgresql.org/docs/current/continuous-archiving.html). */
const LEFT_OUT = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*|.*\.signal)$/;
const EMPTIED = /^(pg_wal|pg_replslot|pg_stat_tmp|pg_subtrans|pg_notify|pg_serial|pg_snapshots)$/;

/**
 * Copies a primary that runs, and makes the copy a standby that streams from it. The package has no
 * pg_basebackup, so this is the low-level way, within one session.
 */
export async function makeStandby(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const folder = standby.data;
  const client = new Client({ connectionString: primary.url() });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('drill', fast => true)");
    copy(primary.data, folder);
    const { rows } = await client.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
    );
    writeFileSync(join(folder, 'backup_label'), rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
  writeFileSync(join(folder, 'standby.signal'), '');
  // Without synchronous_standby_names: promoted, it has nobody to wait for at first.
  const from = `${primary.url()}?application_name=${STANDBY}`;
  writeFileSync(join(folder, 'postgresql.auto.conf'), `primary_conninfo = '${from}'\n`);
  // PostgreSQL wants to own what it works on, and may not run as root.
  execFileSync('chown', ['-R', '--reference', primary.data, folder]);
}

function copy(source: string, folder: string): void {
  const filter = (path: string): boolean =>
    !LEFT_OUT.test(basename(path)) && !EMPTIED.test(basename(dirname(path)));
  cpSync(source, folder, { recursive: true, filter });
  mkdirSync(join(folder, 'pg_wal'), { recursive: true, mode: 0o700 });
}
