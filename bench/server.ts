import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CORES, start } from './processes.js';
import type { Runtime } from './runtime.js';

/** A server to be measured, and how it is started: arguments for Node, and its environment. */
export interface Contestant {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** Where it runs; a `.env` there would count. */
  readonly cwd: string;
  /** The bearer token that it takes. */
  readonly token: string;
  /** The address of the store that must hold what it accepted. */
  readonly store?: string;
  /** The first process of the database server that it writes to. */
  readonly database?: number | undefined;
}

/** A server that listens. */
export interface Server extends Contestant {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a server on its cores, and waits until it has printed its address.
 *
 * @throws Error where it ends before that
 */
export async function startServer(contestant: Contestant, runtime: Runtime): Promise<Server> {
  const { name, args, env, cwd } = contestant;
  // Nothing of our own environment, so a BODY_LIMIT of the shell, say, does not change the result.
  const child = start(CORES?.server, runtime.node, args, {
    cwd,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
  });
  const url = await addressIn(child.stdout as Readable);
  if (url === undefined || child.pid === undefined) throw new Error(`${name} did not start`);
  const stop = async (): Promise<void> => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  return { ...contestant, url, pid: child.pid, stop };
}

async function addressIn(output: Readable): Promise<string | undefined> {
  const lines = createInterface(output);
  for await (const line of lines) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    // The service tells where its management is, too.
    if (url === undefined || line.includes('Management')) continue;
    output.resume();
    return url;
  }
  return undefined;
}
