import { join } from 'node:path';
import Database from 'better-sqlite3';
import { TemporaryStore } from './temporary-store.js';

/** A store in a SQLite file. */
export class SqliteStore extends TemporaryStore {
  readonly path = join(this.folder, 'data', 'store.sqlite');
  readonly url = `sqlite:${this.path}`;

  /** Opens another connection. Integers are bigints. The caller closes it. */
  open(): Database.Database {
    return new Database(this.path).defaultSafeIntegers();
  }

  override rows<Row>(sql: string): Promise<Row[]> {
    const database = this.open();
    try {
      return Promise.resolve(database.prepare<unknown[], Row>(sql).all());
    } finally {
      database.close();
    }
  }

  override execute(sql: string): Promise<void> {
    const database = this.open();
    database.exec(sql).close();
    return Promise.resolve();
  }

  override lock(): Promise<() => Promise<void>> {
    const database = this.open();
    database.exec('BEGIN IMMEDIATE');
    return Promise.resolve(() => {
      database.exec('ROLLBACK').close();
      return Promise.resolve();
    });
  }

  override refuse(name: string): Promise<void> {
    return this.execute(`
      CREATE TRIGGER refuse BEFORE INSERT ON plants WHEN NEW.name = '${name}'
      BEGIN SELECT RAISE(ABORT, 'secret'); END`);
  }
}
