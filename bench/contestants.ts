import { join } from 'node:path';
import type { Postgres } from './postgres.js';
import type { Runtime } from './runtime.js';
import type { Contestant } from './server.js';
import { ROOT } from './processes.js';
import { createStore, serviceOver } from './store.js';

/** The service on SQLite, and three others that are as bare as they can be. */
export function onSqlite(cwd: string, runtime: Runtime): Contestant[] {
  const store = createStore(`sqlite:${join(cwd, 'plant-store.sqlite')}`, cwd, runtime);
  const { token } = store;
  const file = join(cwd, 'fastify.sqlite');
  const other = (name: string, script: string) => {
    return { name, args: [pathOf(script)], cwd, token };
  };
  return [
    serviceOver(store, 'this service', cwd),
    other('stock Nest, empty handler', 'stock-nest.js'),
    {
      ...other('Fastify + better-sqlite3', 'fastify.js'),
      env: { STORE: file, TOKEN: token },
      store: `sqlite:${file}`,
    },
    other('bare node:http', 'bare.js'),
  ];
}

/** The service on PostgreSQL, and two others; each has its own database. */
export async function onPostgres(
  postgres: Postgres,
  cwd: string,
  runtime: Runtime,
): Promise<Contestant[]> {
  const database = postgres.pid;
  const plants = createStore(await postgres.create('own'), cwd, runtime);
  const own = { ...serviceOver(plants, 'this service on PostgreSQL', cwd), database };
  const other = async (name: string, script: string, plants: string) => {
    const [store, token] = [await postgres.create(plants), own.token];
    const env = { DATABASE_URL: store, TOKEN: token };
    return { name, args: [pathOf(script)], env, cwd, token, store, database };
  };
  return [
    own,
    await other('stock Nest + repository.insert()', 'nest-postgres.js', 'nest'),
    await other('Fastify + pg', 'fastify-postgres.js', 'fastify'),
  ];
}

function pathOf(script: string): string {
  return join(ROOT, 'dist/bench/servers', script);
}
