import { isUtf8 } from 'node:buffer';
import { DataSource, type QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { NO_STORE, type Rows, type SnapshotReader } from './engine.js';
import { engineOf, STORE_NAME, unusable } from './open-store.js';
import { DamageError } from './store-errors.js';

/** What is read, for the operator whom an error tells why it cannot be. */
export interface Subject {
  /** Of an environment variable or a file, then what that is. */
  readonly name: string;
  /** What to do where it is not there, or is something else; '' for nothing. */
  readonly advice: string;
}

const STORE: Subject = { name: STORE_NAME, advice: NO_STORE };

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
   * @throws DamageError where a value is not what the column has; the store's error
   */
  async *lines(rows: Rows): AsyncGenerator<Buffer> {
    for await (const chunk of this.reader.lines(this.runner, rows)) {
      if (!isUtf8(chunk)) throw new DamageError(`${rows.table}: ${describeInvalid(chunk)}`);
      yield chunk;
    }
  }

  /**
   * Checks the structure of the files; rows are checked as they are read.
   *
   * @returns whether that includes the indexes
   * @throws DamageError; the store's error
   */
  check(tables: readonly string[]): Promise<boolean> {
    return this.reader.check(this.runner, tables);
  }

  query<Row>(sql: string): Promise<Row[]> {
    return this.runner.manager.query<Row[]>(sql);
  }

  async close(): Promise<void> {
    await this.runner.release();
    await this.store.destroy();
  }
}

function describeInvalid(chunk: Buffer): string {
  const lines = chunk.toString('latin1').split('\n');
  const line = lines.find((line) => !isUtf8(Buffer.from(line, 'latin1')));
  return `the text of id ${/-?\d+/.exec(line ?? '')?.[0]} is not UTF-8`;
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
    throw new Error(
      'its schema is of an older version: run `npx plant-store migrate` on a store; restore a backup with its version',
    );
  }
  if (run.size > known.length) {
    throw new Error('its schema is of a newer version: use that version of plant-store');
  }
}
