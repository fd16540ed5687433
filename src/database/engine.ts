import type { DataSourceOptions, Repository } from 'typeorm';
import type { Plant } from '../plants/plant.entity.js';
import { sqlite } from './sqlite.js';

/** What differs from one database engine to the next: all of it. */
export interface Engine {
  /** How TypeORM reaches the database that a `DATABASE_URL` names. */
  connect(url: string): DataSourceOptions;
  /** Opens the way on which groups of plants get into the store. */
  openInserter(plants: Repository<Plant>): Inserter;
  /** The statement that returns the plants stored under these ids: its text, its parameters. */
  findPlants(ids: readonly string[]): [sql: string, parameters: unknown[]];
}

/** Puts groups of plants into the store, each in one statement and one commit. */
export interface Inserter {
  /**
   * Inserts the plants whose id is free and answers with the ids of those, once they are on stable
   * storage; where it rejects, none is inserted. No two plants of a group have one id.
   */
  insert(plants: readonly Plant[]): Promise<string[]>;
  /** Waits for what is under way, then lets go of the store. */
  close(): Promise<void>;
}

/** Nest's token for the {@link Engine} in use. */
export const ENGINE = Symbol('ENGINE');

/** The one switch on the engine: what a `DATABASE_URL` names by its scheme. */
export function engineOf(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  throw new Error('DATABASE_URL names no engine');
}
