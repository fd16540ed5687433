import type { DataSourceOptions } from 'typeorm';
import type { Plant } from '../plants/plant.entity.js';
import { sqlite } from './sqlite.js';

/** A statement's text and its parameters, as `Repository.query` takes them. */
export type Statement = [sql: string, parameters: unknown[]];

/** What differs from one database engine to the next: all of it. */
export interface Engine {
  /** How TypeORM reaches the database that a `DATABASE_URL` names. */
  connect(url: string): DataSourceOptions;
  /** Inserts the plants whose id is free, returns the ids of those. The text is fixed for any size. */
  insertPlants(plants: readonly Plant[]): Statement;
  /** Returns the plants stored under these ids. */
  findPlants(ids: readonly string[]): Statement;
}

/** Nest's token for the {@link Engine} in use. */
export const ENGINE = Symbol('ENGINE');

/** The one switch on the engine: what a `DATABASE_URL` names by its scheme. */
export function engineOf(url: string): Engine {
  if (url.startsWith('sqlite:')) return sqlite;
  throw new Error('DATABASE_URL names no engine');
}
