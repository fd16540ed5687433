import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { freePort } from '../../test/support/postgres-programs.js';
import { PostgresServer } from '../../test/support/postgres-server.js';
import { query } from '../../bench/postgres.js';

const servers = new Set<PostgresServer>();

process.on('exit', () => {
  for (const { process: child, folder } of servers) {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  }
});

/** As many log files are kept as a standby may need to catch up. */
const SETTINGS = ['wal_keep_size=4096'];

/** A new server with an empty store; it is gone when the drill ends, however it ends. */
export async function newServer(): Promise<PostgresServer> {
  const server = await PostgresServer.start(SETTINGS);
  servers.add(server);
  demandDisk(server);
  await demandDurability(server.url());
  return server;
}

/** A server that has no data yet, and does not run. */
export async function emptyServer(): Promise<PostgresServer> {
  const server = new PostgresServer(await freePort(), SETTINGS);
  servers.add(server);
  return server;
}

/** Ends a server that is needed no more, and removes its data. */
export async function discard(server: PostgresServer): Promise<void> {
  await server.stop();
  await server.remove();
  servers.delete(server);
}

/** @throws Error where the data is in memory, and its commits wait for nothing */
function demandDisk({ folder }: PostgresServer): void {
  const type = execFileSync('df', ['--output=fstype', folder], { encoding: 'utf8' });
  if (type.includes('tmpfs'))
    throw new Error(`${folder} is in memory: set TMPDIR to one on a disk`);
}

/** @throws Error where a server's 200 would not mean stable storage: the drill would show nothing */
async function demandDurability(url: string): Promise<void> {
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    const [row] = await query<{ value: string }>(url, 'SELECT current_setting($1) AS value', [
      name,
    ]);
    if (row?.value !== 'on') throw new Error(`${name} is ${row?.value}`);
  }
}
