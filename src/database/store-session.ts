import { isUtf8 } from 'node:buffer';
import { setImmediate } from 'node:timers/promises';
import type { EntityManager, QueryRunner } from 'typeorm';
import type { Config } from '../config/config.js';
import { describeError } from '../errors/operator-message.js';
import type { LinesQuery } from './engine.js';
import { withStore, type Store } from './store.js';
import { assertMigrated, OWN_TABLES } from './schema.js';
import { DamageError, toCommitError, type StoreProblem } from './store-errors.js';
import { listTables, type Table } from './tables.js';

/** Minimum bytes of each chunk of lines; the last may be shorter. */
const CHUNK_LENGTH = 2 ** 18;

/** A session in one transaction, which reads a snapshot of the store, or fills it; rolled back on dispose unless committed. */
export class StoreSession {
  private constructor(
    private readonly store: Store,
    /** Those that the entities of all modules describe. */
    readonly tables: readonly Table[],
    private readonly runner: QueryRunner,
    /** What an inspection has found that keeps nobody from reading. */
    readonly problems: readonly StoreProblem[],
  ) {}

  /** Begins one on an existing store. @param allowsOlder whether an older one that has every column will do @throws StoreUnusableError */
  static async open(
    config: Config,
    access: 'read' | 'fill' = 'read',
    allowsOlder = false,
  ): Promise<StoreSession> {
    return withStore(config, access, [], async (store) => {
      const tables = listTables(store);
      const columns = tables.flatMap((table) =>
        table.columns.map(({ name }) => `${table.name}.${name}`),
      );
      const runner = store.createQueryRunner();
      const { engine } = store;
      await assertMigrated(runner, engine, [], allowsOlder ? columns : undefined);
      if (access === 'fill') await engine.recover?.(store);
      const problems = await store.assertSound();
      await engine.begin(runner, access, config.databaseTimeout, tables);
      return new StoreSession(store, tables, runner, problems);
    });
  }

  /** Says which tables a backup lacks, if they may be another program's. @throws Error if they cannot be */
  async describeLeftOut(): Promise<string | undefined> {
    const { engine, entityMetadatas } = this.store;
    const described = [...OWN_TABLES, ...entityMetadatas.map(({ tableName }) => tableName)];
    const rows = await this.query<{ name: string }>(engine.listTables);
    const unknown = rows.map(({ name }) => name).filter((name) => !described.includes(name));
    if (unknown.length === 0) return undefined;
    const what = `no entity of this version describes ${unknown.join(', ')}`;
    if (engine.isShared) return what;
    throw new Error(
      `the store has other tables, which no backup would have: ${what}: look what they have, and move them into a file of their own`,
    );
  }

  /**
   * Must be called before rows are read in the order of their key. If an inspection has found a problem, two rows may have one
   * key, and the second one would be skipped. @throws DamageError naming an id that is there twice
   */
  async assertUnique({ name, key }: LinesQuery['table']): Promise<void> {
    if (this.problems.length === 0) return;
    const [row] = await this.query<{ id: unknown }>(
      `SELECT "${key.name}" AS id FROM "${name}" GROUP BY "${key.name}" HAVING COUNT(*) > 1 ORDER BY 1 LIMIT 1`,
    );
    if (row) throw new DamageError(`${name}: ${key.name} ${String(row.id)} is there twice`);
  }

  /** Reads whole lines in chunks; memory grows with neither the table nor a slow reader. @throws DamageError */
  async *readLines(query: LinesQuery): AsyncGenerator<Buffer> {
    let chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of this.store.engine.readLines(this.runner, query)) {
      chunks.push(chunk);
      length += chunk.length;
      if (length < CHUNK_LENGTH || !chunk.includes('\n')) continue;
      const joined = Buffer.concat(chunks);
      const end = joined.lastIndexOf('\n') + 1;
      yield checkText(joined.subarray(0, end), query);
      chunks = [joined.subarray(end)];
      length -= end;
      // SQLite reads synchronously: progress and signals would never have their turn.
      await setImmediate();
    }
    if (length > 0) yield checkText(Buffer.concat(chunks), query);
  }

  /** Inserts rows, a JSON array of arrays, with their keys; the next row is numbered after them. */
  async insert(table: Table, rows: string): Promise<void> {
    const { statements } = this.store.engine;
    await this.query(statements.insert(table), [rows]);
    const renumber = table.isGenerated && statements.renumber?.(table);
    if (renumber) await this.query(renumber);
  }

  /** Lists what an operator has added that can change or drop a plant. */
  listWarnings(): Promise<readonly string[]> {
    return this.store.listWarnings(this.manager);
  }

  async check(): Promise<void> {
    await this.store.engine.checkFiles?.(this.runner);
  }

  /** The entities' manager within the transaction. */
  get manager(): EntityManager {
    return this.runner.manager;
  }

  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]> {
    return this.manager.query<Row[]>(sql, parameters);
  }

  /**
   * @param doubt what nobody knows if no response comes, and how to find out
   * @throws Error if what was filled could be lost: the server's settings may have changed meanwhile
   */
  async commit(doubt: string): Promise<void> {
    const { manager, store } = this;
    await store.assertSound([], manager);
    await this.query('COMMIT').catch((error: unknown) => {
      throw toCommitError(error, doubt);
    });
    await store.assertSound([], manager).catch((cause: unknown) => {
      throw new Error(`the store is filled, but ${describeError(cause)}`, { cause });
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store.destroy();
  }
}

/** @throws DamageError if a text is not UTF-8 */
function checkText(text: Buffer, { table }: LinesQuery): Buffer {
  if (isUtf8(text)) return text;
  const lines = text.toString('latin1').split('\n');
  const line = lines.find((line) => !isUtf8(Buffer.from(line, 'latin1')));
  const [id] = /-?\d+/.exec(line ?? '') ?? [];
  throw new DamageError(`${table.name}: the text of id ${id} is not UTF-8`);
}
