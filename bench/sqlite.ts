import { randomFillSync } from 'node:crypto';
import Database from 'better-sqlite3';

/**
 * Fills a store with plants of random ids, one after the other as clients would send them, so its
 * pages are as full as creates leave them; but in one transaction, and on the disk only at the end.
 */
export function fill(file: string, plants: number): void {
  const database = new Database(file);
  database.pragma('synchronous = OFF');
  database.pragma('cache_size = -1000000');
  const insert = database.prepare(
    `INSERT OR IGNORE INTO plants (id, name, tag, created_by, created_at)
    VALUES (?, 'Black alder', 'Alnus glutinosa', 'token:1', 1763700000000)`,
  );
  database.transaction(() => {
    for (const id of randomFillSync(new BigInt64Array(plants))) insert.run(id);
  })();
  database.pragma('synchronous = FULL');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** The number of plants in a SQLite file. */
export function countPlants(file: string): number {
  return query<{ n: number }>(file, 'SELECT count(*) AS n FROM plants')[0]?.n ?? NaN;
}

/** The rows of a statement that only reads, on a connection of its own. */
export function query<Row>(file: string, sql: string, ...values: unknown[]): Row[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<unknown[], Row>(sql).all(...values);
  } finally {
    database.close();
  }
}
