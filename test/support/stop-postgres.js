// @ts-check
/** Ends what start-postgres.js has started. */
export default async function stopPostgres() {
  const { postgresOfTests } =
    /** @type {{ postgresOfTests?: import('./postgres-server.js').PostgresServer }} */ (globalThis);
  await postgresOfTests?.remove();
}
