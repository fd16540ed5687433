// @ts-check
import { rmSync } from 'node:fs';
import process from 'node:process';
import { PostgresServer } from './postgres-server.js';

/** Starts the PostgreSQL of the tests, once for all of them, where TEST_DATABASE_URL names none. */
export default async function startPostgres() {
  if (process.env.TEST_DATABASE_URL) return;
  // Tests that end a server have one of their own.
  const server = await PostgresServer.start(['max_connections=300']);
  // Where Jest is broken off it tears nothing down.
  process.once('exit', () => {
    server.process?.kill('SIGQUIT');
    rmSync(server.folder, { recursive: true, force: true, maxRetries: 20 });
  });
  process.env.TEST_DATABASE_URL = server.url();
  Object.assign(globalThis, { postgresOfTests: server });
}
