import { Logger } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { Plant, PlantContent } from '../plants/plant.entity.js';
import type { StoreWriter } from './engine.js';
import { SqliteThread, type SqliteThreadOptions } from './sqlite-thread.js';

/**
 * Ids travel as text both ways, since a double cannot hold them, and a group as one JSON text of
 * `[id, name, tag, created_by, created_at]` rows, since that is one statement for any number of plants.
 */
const INSERT = `
  INSERT INTO plants (id, name, tag, created_by, created_at)
  SELECT CAST(value->>0 AS INTEGER), value->>1, value->>2, value->>3, CAST(value->>4 AS INTEGER)
  FROM json_each(?) WHERE true
  ON CONFLICT (id) DO NOTHING RETURNING CAST(id AS TEXT)`;

const FIND = `
  SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
  WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`;

/** Takes `[id, time]` rows. */
const NOTE_USES = `
  UPDATE tokens SET last_used_at = uses.value->>1
  FROM json_each(?) AS uses WHERE tokens.id = uses.value->>0`;

/** Writes a number of the file's header again, which nothing of ours reads, and so commits a page. */
export const PROBE = 'PRAGMA user_version = 0';

const CHECKPOINT = 'PRAGMA wal_checkpoint(PASSIVE)';
/** Pages in the log after which it is written back: 32 MB. */
const CHECKPOINT_AFTER = 8_000;
const PAGE = 4_096;

/**
 * Writes on a thread with a connection of its own. TypeORM's driver for SQLite is synchronous: on the
 * main thread all would stand still while a commit waits for the disk, some 10 µs of the 14 that a
 * plant of a group of 64 takes here, and for as long as another process holds the write lock.
 */
export class SqliteWriter implements StoreWriter {
  /** A second group would only wait for the first one's lock. */
  readonly concurrency = 1;
  private readonly logger = new Logger('Store');
  private readonly writer: SqliteThread;
  private readonly checkpointer: SqliteThread;
  /** Pages in the log, at the most: plants of random ids touch one each, and long ones more. */
  private pages = 0;
  private checkpoint: Promise<void> | undefined;

  constructor(
    private readonly store: DataSource,
    options: SqliteThreadOptions,
  ) {
    this.writer = new SqliteThread(options);
    this.checkpointer = new SqliteThread(options);
  }

  async insertPlants(plants: readonly Plant[]): Promise<string[]> {
    const rows = JSON.stringify(plants.map(rowOf));
    const inserted = await this.writer.run(INSERT, rows);
    this.noteWritten(plants.length + rows.length / PAGE);
    return inserted;
  }

  /** On the main thread, as it does not wait: the insert before it has looked whether the file is there. */
  findPlants(ids: readonly string[]): Promise<PlantContent[]> {
    return this.store.query(FIND, [JSON.stringify(ids)]);
  }

  async noteUses(uses: readonly (readonly [number, number])[]): Promise<void> {
    await this.writer.run(NOTE_USES, JSON.stringify(uses));
  }

  async probe(): Promise<void> {
    await this.writer.run(PROBE);
    this.noteWritten(1);
  }

  async breakOff(): Promise<void> {
    await this.checkpointer.breakOff();
    await this.writer.breakOff();
  }

  async close(): Promise<void> {
    await this.checkpoint;
    await this.checkpointer.close();
    await this.writer.close();
  }

  private noteWritten(pages: number): void {
    this.pages += pages;
    if (this.pages >= CHECKPOINT_AFTER) this.checkpoint ??= this.writeBack();
  }

  /**
   * Writes the log back to the file: most of it beside the commits that go on meanwhile, then the
   * rest between two of them, after which the log begins anew. In SQLite's own way every commit would
   * wait for the whole, over 100 ms at 5 million plants.
   */
  private async writeBack(): Promise<void> {
    this.pages = 0;
    try {
      await this.checkpointer.run(CHECKPOINT);
      await this.writer.run(CHECKPOINT);
    } catch (error) {
      this.logger.warn(`the log was not written back, and is tried again later: ${String(error)}`);
    }
    this.checkpoint = undefined;
  }
}

function rowOf({ id, name, tag, createdBy, createdAt }: Plant): readonly (string | null)[] {
  return [id, name, tag, createdBy, createdAt];
}
