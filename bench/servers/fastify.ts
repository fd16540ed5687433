import { hash } from 'node:crypto';
import Database from 'better-sqlite3';
import fastify from 'fastify';
import { PLANT_SCHEMA, type NewPlant } from './plant-schema.js';

/**
 * The service in the most direct way: Fastify, a schema, a token looked up by its SHA-256, and a
 * commit of its own for each plant, as durable as the service's. Environment: STORE, the SQLite
 * file; TOKEN, the bearer token that it accepts.
 */
const { STORE, TOKEN = '' } = process.env;
const database = new Database(STORE);
// Not by statements of their own: on Node 24 the end of such an object can end the process.
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT);
  CREATE TABLE tokens (hash TEXT PRIMARY KEY);
  INSERT INTO tokens VALUES ('${hash('sha256', TOKEN)}');
`);
const findToken = database.prepare('SELECT 1 FROM tokens WHERE hash = ?');
const insertPlant = database.prepare('INSERT INTO plants VALUES (?, ?, ?)');

const app = fastify();
app.addHook('onRequest', (request, reply, done) => {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (token !== undefined && findToken.get(hash('sha256', token)) !== undefined) done();
  else reply.code(401).send({ error: 2001, message: 'invalid token' });
});
app.post<{ Body: NewPlant }>('/plants', { schema: PLANT_SCHEMA }, ({ body }, reply) => {
  insertPlant.run(body.id, body.name, body.tag ?? null);
  reply.send({ name: body.name, tag: body.tag });
});
console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
