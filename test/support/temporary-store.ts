import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A plant in the store. */
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** A test's own store, with direct access past the service. */
export abstract class TemporaryStore {
  /** Its own folder, for the processes of the test. */
  readonly folder: string;
  abstract readonly url: string;

  /** @param parent the folder in which its own is created */
  constructor(parent = tmpdir()) {
    this.folder = mkdtempSync(join(parent, 'plant-store-'));
  }

  /** The rows of a query; 64-bit integers are bigints. */
  abstract rows<Row>(sql: string): Promise<Row[]>;

  /** Runs statements without results. */
  abstract execute(sql: string): Promise<void>;

  /** Locks the plants against writes, as another process would. Returns the function that unlocks. */
  abstract lock(): Promise<() => Promise<void>>;

  /** Makes the store refuse plants of this name, whatever else shares their commit. */
  abstract refuse(name: string): Promise<void>;

  /** All stored plants, ordered by id. */
  plants(): Promise<StoredPlant[]> {
    return this.rows<StoredPlant>('SELECT id, name, tag FROM plants ORDER BY id');
  }

  /** The plant of an id, or undefined. */
  async plant(id: bigint): Promise<StoredPlant | undefined> {
    const where = `id = CAST('${id}' AS bigint)`;
    return (await this.rows<StoredPlant>(`SELECT id, name, tag FROM plants WHERE ${where}`))[0];
  }

  /** The number of stored plants. */
  async count(): Promise<number> {
    return Number((await this.rows<{ n: bigint }>('SELECT count(*) AS n FROM plants'))[0]?.n);
  }

  /** Removes all of it. */
  remove(): Promise<void> {
    rmSync(this.folder, { recursive: true, force: true });
    return Promise.resolve();
  }
}
