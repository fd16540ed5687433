import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** A plant as it stands in the file. */
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** A SQLite store in a folder of its own, and a look into the file past the service. */
export class TemporaryStore {
  readonly folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  readonly path = join(this.folder, 'data', 'store.sqlite');
  readonly url = `sqlite:${this.path}`;

  /** A connection besides the service's; integers are bigints. The caller closes it. */
  open(): Database.Database {
    return new Database(this.path).defaultSafeIntegers();
  }

  /** Every stored plant, in the order of the ids. */
  plants(): StoredPlant[] {
    return this.rows<StoredPlant>('SELECT id, name, tag FROM plants ORDER BY id');
  }

  /** The plant of an id, or undefined. */
  plant(id: bigint): StoredPlant | undefined {
    return this.rows<StoredPlant>('SELECT id, name, tag FROM plants WHERE id = ?', id)[0];
  }

  /** How many plants are stored. */
  count(): number {
    return Number(this.rows<{ n: bigint }>('SELECT count(*) AS n FROM plants')[0]?.n);
  }

  /** The rows of a query. */
  rows<Row>(sql: string, ...parameters: unknown[]): Row[] {
    const database = this.open();
    try {
      return database.prepare<unknown[], Row>(sql).all(...parameters);
    } finally {
      database.close();
    }
  }

  /** Removes the folder and all in it. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
