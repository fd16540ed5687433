import type { DataSource, DataSourceOptions } from 'typeorm';
import type { Config } from '../config/config.js';
import type { Plant, PlantContent } from '../plants/plant.entity.js';

/** What the configuration says of the store. */
export type StoreConfig = Pick<Config, 'databaseUrl' | 'databaseTimeout'>;

/** What differs from one database engine to the next: all of it. */
export interface Engine {
  /** Its name in traces (OpenTelemetry's `db.system.name`) and metrics. */
  readonly system: string;
  /** How TypeORM reaches the database. */
  connect(config: StoreConfig): DataSourceOptions;
  /** The same, to read alone: nothing is made or changed there. */
  connectToRead(config: StoreConfig): DataSourceOptions;
  /** What two addresses of one database have in common, for most ways to write one. */
  placeOf(url: string): string;
  /** Brings the schema up to date and returns the names of the migrations that it ran. */
  migrate(config: StoreConfig): Promise<string[]>;
  /** Rejects, with a reason for the operator, where the database could lose an acknowledged plant. */
  demandDurability(store: DataSource): Promise<void>;
  /**
   * Claims the database for the service of this process, where no two services may share one. What the
   * commands open is not claimed.
   *
   * @returns a function that ends the claim, as the end of the process does
   * @throws Error, with a reason for the operator, where another service has it
   */
  claim(config: StoreConfig): () => void;
  /**
   * Makes durable what an earlier process has left, before the service tells anyone that it is stored.
   * Rejects with the store's error where it cannot be.
   */
  recover(store: DataSource): Promise<void>;
  /** Whether a failed start may do later, as the database was only away. */
  isAwayAtStart(error: unknown): boolean;
  /** Opens the way on which the service writes while it runs. */
  openWriter(store: DataSource, config: StoreConfig): StoreWriter;
}

/** What the service writes while it runs, without standing still meanwhile. */
export interface StoreWriter {
  /** Groups that are worth being under way at once. */
  readonly concurrency: number;
  /**
   * Inserts the plants whose id is free, in one statement and one commit, and returns the ids of
   * those once they are on stable storage. No two plants of a group have one id.
   *
   * @throws StoreAwayError where it is not known what was inserted; any other error: nothing was
   */
  insertPlants(plants: readonly Plant[]): Promise<string[]>;
  /**
   * What is stored under these ids, each plant on stable storage.
   *
   * @throws StoreAwayError, or the store's error
   */
  findPlants(ids: readonly string[]): Promise<PlantContent[]>;
  /** Sets when tokens were last used: the ids of tokens, and milliseconds since 1970. */
  noteUses(uses: readonly (readonly [id: number, time: number])[]): Promise<void>;
  /**
   * Resolves where a plant would be taken now: does all that an insert does, with no plant.
   *
   * @throws StoreAwayError, or the store's error
   */
  probe(): Promise<void>;
  /** Breaks off what is under way, as far as it can be, for a process that is about to exit. */
  breakOff(): Promise<void>;
  /** Waits for what is under way, then lets go of the store. */
  close(): Promise<void>;
}

/** Nest's token for the {@link StoreWriter} of the engine in use. */
export const STORE_WRITER = Symbol('STORE_WRITER');
