// @ts-check
/** Stops the server of start-postgres.js. */
export default async function stopPostgres() {
  const { postgresOfTests } =
    /** @type {{ postgresOfTests?: import('./postgres-server.js').PostgresServer }} */ (globalThis);
  await postgresOfTests?.remove();
}
