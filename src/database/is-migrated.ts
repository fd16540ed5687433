import type { DataSource } from 'typeorm';

/** Whether all migrations were run on a store; nothing is written there. */
export async function isMigrated(store: DataSource): Promise<boolean> {
  const runner = store.createQueryRunner();
  try {
    // Looked for first, since TypeORM's own look makes the table that lists the migrations.
    if (!(await runner.hasTable('migrations'))) return false;
  } finally {
    await runner.release();
  }
  return !(await store.showMigrations());
}
