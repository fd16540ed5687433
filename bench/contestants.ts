import { join } from 'node:path';
import type { Postgres } from './postgres.js';
import { CORES } from './processes.js';
import type { Runtime } from './runtime.js';
import type { Contestant } from './server.js';
import { createStore, serviceOver } from './store.js';

/** The service on SQLite, and three others that are as bare as they can be. */
export function onSqlite(cwd: string, runtime: Runtime): Contestant[] {
  const store = createStore(`sqlite:${join(cwd, 'plant-store.sqlite')}`, cwd, runtime);
  const { token } = store;
  const file = join(cwd, 'fastify.sqlite');
  const other = (name: string, script: string) => {
    return { name, args: [pathOf(script, runtime)], cwd, token };
  };
  return [
    serviceOver(store, 'this service', cwd, runtime),
    other('stock Nest, empty handler', 'stock-nest.js'),
    {
      ...other('Fastify + better-sqlite3', 'fastify.js'),
      env: { STORE: file, TOKEN: token },
      store: `sqlite:${file}`,
    },
    other('bare node:http', 'bare.js'),
  ];
}

/** The service on PostgreSQL, in one process and in two, and two others; each has its own database. */
export async function onPostgres(
  postgres: Postgres,
  cwd: string,
  runtime: Runtime,
): Promise<Contestant[]> {
  const database = postgres.pid;
  const service = async (name: string, plants: string) => {
    const store = createStore(await postgres.create(plants), cwd, runtime);
    return { ...serviceOver(store, name, cwd, runtime), database };
  };
  const [own, two] = [
    await service('this service on PostgreSQL', 'own'),
    await service('the same with WORKERS=2', 'two'),
  ];
  const other = async (name: string, script: string, plants: string) => {
    const [store, token] = [await postgres.create(plants), own.token];
    const env = { DATABASE_URL: store, TOKEN: token };
    return { name, args: [pathOf(script, runtime)], env, cwd, token, store, database };
  };
  return [
    own,
    // Two processes on one core would only get in each other's way.
    { ...two, env: { ...two.env, WORKERS: '2' }, cores: CORES?.all },
    await other('stock Nest + repository.insert()', 'nest-postgres.js', 'nest'),
    await other('Fastify + pg', 'fastify-postgres.js', 'fastify'),
  ];
}

function pathOf(script: string, { root }: Runtime): string {
  return join(root, 'dist/bench/servers', script);
}
