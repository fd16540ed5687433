import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { CORES, start } from './processes.js';
import type { Runtime } from './runtime.js';

/** How a server is started: arguments for Node, and its environment. */
export interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly env?: Record<string, string>;
  /** Where it runs; a `.env` there would count. */
  readonly cwd: string;
}

/** A server that listens. */
export interface Server {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a server on the server's core, and waits until it has printed its address.
 *
 * @throws Error where it ends before that
 */
export async function startServer({ name, args, env, cwd }: Program, runtime: Runtime) {
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
  return { name, url, pid: child.pid, stop } satisfies Server;
}

async function addressIn(output: Readable): Promise<string | undefined> {
  const lines = createInterface(output);
  for await (const line of lines) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url === undefined) continue;
    output.resume();
    return url;
  }
  return undefined;
}
