import { execFileSync } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { ROOT } from './processes.js';
import type { Runtime } from './runtime.js';
import type { Program } from './server.js';

/** A store of the service, and a token that holds in it. */
export interface Store {
  readonly file: string;
  readonly token: string;
}

/** Makes a store, as an operator would: the command creates and migrates it. */
export function createStore(file: string, { node, root }: Runtime): Store {
  const args = [join(root, 'dist/src/cli.js'), 'token', 'create', 'bench'];
  const token = execFileSync(node, args, {
    cwd: dirname(file),
    env: { PATH: process.env.PATH, NODE_ENV: 'production', DATABASE_URL: `sqlite:${file}` },
    encoding: 'utf8',
  });
  return { file, token: token.trim() };
}

/** The service over a store, with the flags that `npm start` gives to Node. */
export function serviceOver({ file }: Store, name: string, { root }: Runtime): Program {
  return {
    name,
    args: [...startFlags(), join(root, 'dist/src/main.js')],
    env: { PORT: '0', DATABASE_URL: `sqlite:${file}` },
    cwd: dirname(file),
  };
}

/** The flags that `npm start` gives to Node. */
export function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ').filter((word) => word.startsWith('-'));
}

/**
 * Fills a store with plants of random ids, one after the other as clients would send them, so its
 * pages are as full as creates leave them; but in one transaction, and on the disk only at the end.
 */
export function fill({ file }: Store, plants: number): void {
  const database = new Database(file);
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -1000000');
  const insert = database.prepare(
    "INSERT OR IGNORE INTO plants (id, name, tag) VALUES (?, 'Black alder', 'Alnus glutinosa')",
  );
  database.transaction(() => {
    for (const id of randomFillSync(new BigInt64Array(plants))) insert.run(id);
  })();
  database.pragma('synchronous = FULL');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** The number of plants in a SQLite file. */
export function countPlants(file: string): number {
  const database = new Database(file, { readonly: true });
  const count = database.prepare('SELECT count(*) FROM plants').pluck().get() as number;
  database.close();
  return count;
}
