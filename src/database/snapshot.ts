import { DataSource, type QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { TO_CREATE, type Rows, type SnapshotReader } from './engine.js';
import { engineOf, STORE_NAME, unusable } from './open-store.js';

/** What is read, for the operator whom an error tells why it cannot be. */
export interface Subject {
  /** Of an environment variable or a file, then what that is. */
  readonly name: string;
  /** What to do where it is not there, or is something else; '' for nothing. */
  readonly advice: string;
}

const STORE: Subject = { name: STORE_NAME, advice: TO_CREATE };

/** A store as it was at one moment, to read alone: what others write meanwhile is not in it. */
export class Snapshot {
  private constructor(
    private readonly store: DataSource,
    private readonly runner: QueryRunner,
    private readonly reader: SnapshotReader,
  ) {}

  /**
   * Opens a store that is there already; nothing is made or migrated.
   *
   * @throws StoreUnusableError, also where its schema is not this version's
   */
  static async open(config: Config, subject = STORE): Promise<Snapshot> {
    try {
      const engine = engineOf(config.databaseUrl);
      const store = await new DataSource(engine.connectToRead(config, subject.advice)).initialize();
      const snapshot = new Snapshot(store, store.createQueryRunner(), engine.reader);
      try {
        await engine.reader.begin(snapshot.runner, config.databaseTimeout);
        await assertSchema(store, snapshot.runner, subject);
        return snapshot;
      } catch (error) {
        await snapshot.close();
        throw error;
      }
    } catch (error) {
      throw unusable(error, subject.name);
    }
  }

  /**
   * Reads rows as lines, each with its line feed: whole ones in every chunk. Memory grows neither with the table
   * nor with a slow reader. One table at a time.
   *
   * @throws the store's error
   */
  lines(rows: Rows): AsyncIterable<Buffer> {
    return this.reader.lines(this.runner, rows);
  }

  query<Row>(sql: string): Promise<Row[]> {
    return this.runner.manager.query<Row[]>(sql);
  }

  async close(): Promise<void> {
    await this.runner.release();
    await this.store.destroy();
  }
}

/** @throws Error, for the operator, where a store has not the very migrations of this version */
async function assertSchema(
  store: DataSource,
  runner: QueryRunner,
  { advice }: Subject,
): Promise<void> {
  const known = store.migrations.map(({ constructor, name = constructor.name }) => name);
  const rows = (await runner.hasTable('migrations'))
    ? await runner.manager.query<{ name: string }[]>('SELECT name FROM migrations')
    : [];
  const run = new Set(rows.map(({ name }) => name));
  const missing = known.filter((name) => !run.has(name));
  if (missing.length === known.length) {
    throw new Error(`it is not a plant store${advice}`);
  }
  if (missing.length > 0) {
    throw new Error('its schema is not up to date: run `npx plant-store migrate` on it');
  }
  if (run.size > known.length) {
    throw new Error('its schema is of a newer version: use that version of plant-store');
  }
}
