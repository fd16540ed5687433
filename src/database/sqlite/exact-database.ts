import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { assertWritable } from './files.js';
import { assertOwnLog } from './log-owner.js';
import { readCode } from '../../errors/operator-message.js';

/**
 * SQLite's driver, with integers beyond 2^53 as bigints in rows: a double does not represent every int64. It refuses a file
 * with the log of another one, and keeps prepared statements and a descriptor of the file.
 */
export class ExactDatabase extends Database {
  private openedDescriptor: number | undefined;
  /** Prepared statements by their SQL: TypeORM prepares each statement anew. */
  private readonly statements = new LRUCache<string, Database.Statement>({ max: 100 });

  /** @throws Error if the log is another file's, or naming what cannot be written to: SQLite writes beside a file to read it */
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

  /** A descriptor of the file, closed last: closing any drops all locks of this process (sqlite.org/howtocorrupt.html). */
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
    const keptStatement = this.statements.get(sql);
    if (keptStatement) return keptStatement as typeof statement;
    const statement = super.prepare<Bound, Result>(sql);
    this.statements.set(sql, statement);
    if (!statement.reader) return statement;
    const all = statement.safeIntegers().all.bind(statement);
    // TypeORM reads rows by `all` alone.
    const narrowed = (...bound: unknown[]) => all(...bound).map(narrowIntegers);
    return Object.assign(statement, { all: narrowed });
  }
}

/** Replaces bigints by numbers where a double is exact. */
function narrowIntegers<Row>(row: Row): Row {
  // With pluck() a row is a value.
  if (typeof row !== 'object' || row === null) return row;
  const cells = row as Record<string, unknown>;
  for (const [name, value] of Object.entries(cells))
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value)))
      cells[name] = Number(value);
  return row;
}
