import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { assertWritable } from './files.js';
import { assertOwnLog } from './log-owner.js';
import { readCode } from '../../errors/operator-message.js';

/**
 * The driver, but integers beyond 2^53 are bigints in rows: a double does not represent every int64. Checks whose log it
 * opens, keeps statements, and a descriptor of the file.
 */
export class ExactDatabase extends Database {
  private openedDescriptor: number | undefined;
  /** Prepared statements by their SQL: TypeORM keeps its own for one operation. */
  private readonly statements = new LRUCache<string, Database.Statement>({ max: 100 });

  /**
   * @throws Error if the log is another file's, or naming what this process cannot write to: SQLite makes files beside a store
   * to read it
   */
  constructor(file: string, options: Database.Options) {
    if (file.trimEnd() !== file)
      throw new Error(
        `${file}: rename it: the driver would open a file without the blank at the end`,
      );
    try {
      super(file, options);
      this.assertReadable();
    } catch (error) {
      if (/^SQLITE_(READONLY|CANTOPEN)/.test(readCode(error)))
        for (const path of [dirname(file), file]) assertWritable(path);
      throw error;
    }
  }

  private assertReadable(): void {
    try {
      assertOwnLog(this.name);
      this.pragma('schema_version');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** A descriptor of the file, closed last: to close any drops all locks of this process (sqlite.org/howtocorrupt.html). */
  get descriptor(): number {
    return (this.openedDescriptor ??= openSync(this.name, 'r'));
  }

  override close(): this {
    super.close();
    if (this.openedDescriptor !== undefined) closeSync(this.openedDescriptor);
    this.openedDescriptor = undefined;
    return this;
  }

  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- they are the driver's
  override prepare<Bound extends unknown[] | object, Result>(sql: string) {
    const known = this.statements.get(sql);
    if (known) return known as typeof statement;
    const statement = super.prepare<Bound, Result>(sql);
    this.statements.set(sql, statement);
    if (!statement.reader) return statement;
    const all = statement.safeIntegers().all.bind(statement);
    // TypeORM reads rows by `all` alone.
    const narrowed = (...bound: unknown[]) => all(...bound).map(narrowIntegers);
    return Object.assign(statement, { all: narrowed });
  }
}

/** Makes numbers of bigints where a double is exact. */
function narrowIntegers<Row>(row: Row): Row {
  // With pluck() a row is a value.
  if (typeof row !== 'object' || row === null) return row;
  const cells = row as Record<string, unknown>;
  for (const [name, value] of Object.entries(cells))
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
      cells[name] = Number(value);
  return row;
}
