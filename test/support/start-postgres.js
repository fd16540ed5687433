// @ts-check
import { rmSync } from 'node:fs';
import process from 'node:process';
import { PostgresServer } from './postgres-server.js';

/** Starts one PostgreSQL for all tests, unless TEST_DATABASE_URL names one. */
export default async function startPostgres() {
  if (process.env.TEST_DATABASE_URL) return;
  // Tests that stop a server start their own.
  const server = await PostgresServer.start(['max_connections=300']);
  // An interrupted Jest runs no tear-down.
  process.once('exit', () => {
    server.process?.kill('SIGQUIT');
    rmSync(server.folder, { recursive: true, force: true, maxRetries: 20 });
  });
  process.env.TEST_DATABASE_URL = server.url();
  Object.assign(globalThis, { postgresOfTests: server });
}
