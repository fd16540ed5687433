import { hash } from 'node:crypto';
import fastify from 'fastify';
import { Pool } from 'pg';
import { PLANT_SCHEMA, type NewPlant } from './plant-schema.js';

/**
 * The service in the most direct way: Fastify, a schema, a token looked up by its SHA-256, in memory
 * here, and one INSERT for each plant over the driver's pool. Environment: DATABASE_URL, an empty
 * database; TOKEN, the bearer token that it accepts.
 */
const { DATABASE_URL, TOKEN = '' } = process.env;
const pool = new Pool({ connectionString: DATABASE_URL });
await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
const tokens = new Set([hash('sha256', TOKEN)]);

const app = fastify();
app.addHook('onRequest', (request, reply, done) => {
  const [, token] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (token !== undefined && tokens.has(hash('sha256', token))) done();
  else reply.code(401).send({ error: 2001, message: 'invalid token' });
});
app.post<{ Body: NewPlant }>('/plants', { schema: PLANT_SCHEMA }, async ({ body }) => {
  const { id, name, tag } = body;
  await pool.query('INSERT INTO plants VALUES ($1, $2, $3)', [id, name, tag]);
  return { name, tag };
});
console.log(await app.listen({ port: 0, host: '127.0.0.1' }));
