import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as postgres from './postgres.js';
import { ROOT } from './processes.js';
import type { Runtime } from './runtime.js';
import type { Contestant } from './server.js';
import * as sqlite from './sqlite.js';

/** A store of the service, and a token that holds in it. */
export interface Store {
  /** What the service takes for `DATABASE_URL`. */
  readonly url: string;
  readonly token: string;
}

/** Makes a store, as an operator would: the command creates and migrates it. */
export function createStore(url: string, cwd: string, { node }: Runtime): Store {
  const args = [join(ROOT, 'dist/src/cli.js'), 'token', 'create', 'bench'];
  const token = execFileSync(node, args, {
    cwd,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', DATABASE_URL: url },
    encoding: 'utf8',
  });
  return { url, token: token.trim() };
}

/** The service over a store, with the flags that `npm start` gives to Node. */
export function serviceOver({ url, token }: Store, name: string, cwd: string): Contestant {
  return {
    name,
    args: [...startFlags(), join(ROOT, 'dist/src/main.js')],
    env: { PORT: '0', MANAGEMENT_PORT: '0', DATABASE_URL: url },
    cwd,
    token,
    store: url,
  };
}

/** The flags that `npm start` gives to Node. */
export function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ').filter((word) => word.startsWith('-'));
}

/** Fills a store that has its schema. */
export async function fill({ url }: Store, plants: number): Promise<void> {
  const file = sqliteFileOf(url);
  if (file === undefined) await postgres.fill(url, plants);
  else sqlite.fill(file, plants);
}

/** The number of plants behind an address. */
export async function countPlants(url: string): Promise<number> {
  const file = sqliteFileOf(url);
  return file === undefined ? postgres.countPlants(url) : sqlite.countPlants(file);
}

/** The file of a SQLite store; undefined for any other. */
export function sqliteFileOf(url: string): string | undefined {
  return /^sqlite:(.*)/.exec(url)?.[1];
}
