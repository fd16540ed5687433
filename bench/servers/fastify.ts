import { hash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import fastify from 'fastify';
import { Pool } from 'pg';

interface Plant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

/**
 * The service in the most direct way: Fastify, a schema, a token by its SHA-256, and one commit for each
 * plant, or with GROUPED for those that arrive while it waits for the disk, as durable as the service's. Environment:
 * DATABASE_URL, an empty store; TOKEN, the valid token; GROUPED.
 */
const { DATABASE_URL = '', TOKEN = '', GROUPED } = process.env;
const tokens = new Set([hash('sha256', TOKEN)]);
const [, file] = /^sqlite:(.*)/.exec(DATABASE_URL) ?? [];
const insert = file === undefined ? await intoPostgres() : intoSqlite(file);

function intoSqlite(file: string) {
  mkdirSync(dirname(file), { recursive: true });
  const database = new Database(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)`);
  const statement = database.prepare('INSERT INTO plants VALUES (?, ?, ?)');
  const insert = ({ id, name, tag }: Plant) => statement.run(id, name, tag ?? null);
  return GROUPED
    ? inGroups(database.transaction((plants: Plant[]) => plants.forEach(insert)))
    : insert;
}

/** Commits once the sockets are read; one commit keeps the event loop from reading more, as the driver is synchronous. */
function inGroups(commit: (plants: Plant[]) => void) {
  let group: { plants: Plant[]; committed: Promise<void> } | undefined;
  return (plant: Plant): Promise<void> => {
    if (!group) {
      const plants: Plant[] = [];
      const committed = nextTurn().then(() => {
        group = undefined;
        commit(plants);
      });
      group = { plants, committed };
    }
    group.plants.push(plant);
    return group.committed;
  };
}

async function intoPostgres() {
  const pool = new Pool({ connectionString: DATABASE_URL });
  await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
  return ({ id, name, tag }: Plant) =>
    pool.query('INSERT INTO plants VALUES ($1, $2, $3)', [id, name, tag]);
}

const [name, tag] = [{ type: 'string' }, { type: 'string' }];
const properties = { id: { type: 'integer' }, name, tag };
const schema = {
  body: { type: 'object', properties, required: ['id', 'name'] },
  response: { 200: { type: 'object', properties: { name, tag } } },
};
const app = fastify();
app.addHook('onRequest', (request, reply, done) => {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (token !== undefined && tokens.has(hash('sha256', token))) done();
  else reply.code(401).send({ error: 2001, message: 'invalid token' });
});
app.post<{ Body: Plant }>('/plants', { schema }, async ({ body }) => {
  await insert(body);
  return { name: body.name, tag: body.tag };
});
console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
