import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A plant as it stands in the store. */
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** A store of its own for a test, and a look into it past the service. */
export abstract class TemporaryStore {
  /** A folder of its own, for the processes of the test. */
  readonly folder: string;
  abstract readonly url: string;

  /** @param parent the folder that its own is made in */
  constructor(parent = tmpdir()) {
    this.folder = mkdtempSync(join(parent, 'plant-store-'));
  }

  /** The rows of a query; 64-bit integers are bigints. */
  abstract rows<Row>(sql: string): Promise<Row[]>;

  /** Runs statements that have no rows. */
  abstract execute(sql: string): Promise<void>;

  /** Keeps others from writing plants, as another process would; the function that it returns ends it. */
  abstract lock(): Promise<() => Promise<void>>;

  /** Makes the store refuse plants of this name, whatever else shares their commit. */
  abstract refuse(name: string): Promise<void>;

  /** Every stored plant, in the order of the ids. */
  plants(): Promise<StoredPlant[]> {
    return this.rows<StoredPlant>('SELECT id, name, tag FROM plants ORDER BY id');
  }

  /** The plant of an id, or undefined. */
  async plant(id: bigint): Promise<StoredPlant | undefined> {
    const where = `id = CAST('${id}' AS bigint)`;
    return (await this.rows<StoredPlant>(`SELECT id, name, tag FROM plants WHERE ${where}`))[0];
  }

  /** How many plants are stored. */
  async count(): Promise<number> {
    return Number((await this.rows<{ n: bigint }>('SELECT count(*) AS n FROM plants'))[0]?.n);
  }

  /** Removes all of it. */
  remove(): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
    return Promise.resolve();
  }
}
