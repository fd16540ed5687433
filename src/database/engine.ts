import type { DataSource, DataSourceOptions } from 'typeorm';
import type { Plant } from '../plants/plant.entity.js';

/** What differs from one database engine to the next: all of it. */
export interface Engine {
  /** How TypeORM reaches the database that a `DATABASE_URL` names. */
  connect(url: string): DataSourceOptions;
  /** Brings the schema up to date and returns the names of the migrations that it ran. */
  migrate(store: DataSource): Promise<string[]>;
  /** Opens the way on which the service writes while it runs. */
  openWriter(store: DataSource): StoreWriter;
  /** The statement that returns the plants stored under these ids: its text, its parameters. */
  findPlants(ids: readonly string[]): [sql: string, parameters: unknown[]];
}

/** What the service writes while it runs, without standing still meanwhile. */
export interface StoreWriter {
  /**
   * Inserts the plants whose id is free, in one statement and one commit, and returns the ids of
   * those once they are on stable storage; where it rejects, none is inserted, or the store is away.
   * No two plants of a group have one id.
   */
  insertPlants(plants: readonly Plant[]): Promise<string[]>;
  /** Sets when tokens were last used: the ids of tokens, and milliseconds since 1970. */
  noteUses(uses: readonly (readonly [id: number, time: number])[]): Promise<void>;
  /** Waits for what is under way, then lets go of the store. */
  close(): Promise<void>;
}

/** Nest's token for the {@link Engine} in use. */
export const ENGINE = Symbol('ENGINE');
/** Nest's token for its {@link StoreWriter}. */
export const STORE_WRITER = Symbol('STORE_WRITER');
