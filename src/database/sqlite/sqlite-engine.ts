import { randomInt } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DataSource } from 'typeorm';
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js';
import type { Config } from '../../config/config.js';
import { mayCreate, type Access, type Engine } from '../engine.js';
import { appliedMigrationsSql, judgeSchema } from '../schema.js';
import { DamageError, SchemaError, StoreProblem } from '../store-errors.js';
import { ExactDatabase } from './exact-database.js';
import { describeExpected } from './expected.js';
import {
  assertInPlace,
  assertWritable,
  describeUse,
  findFile,
  getPath,
  identifyCompanions,
  lockFile,
} from './files.js';
import { inspectBySql, inspectLogMode, type ListRows } from './inspection.js';
import { adoptFile, readIds, usesLog, writeIds } from './log-owner.js';
import { shareConnection } from './own-transactions.js';
import { findAlias, identifyFile, type OpenedFile } from './place.js';
import { readLines } from './read-lines.js';
import { statements } from './statements.js';
import { SqliteWriter } from './writer.js';

/** WAL and FULL: a commit waits for stable storage (sqlite.org/pragma.html); on macOS only with `fullfsync`. */
const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = FULL',
  'fullfsync = ON',
  'checkpoint_fullfsync = ON',
  // The writer runs checkpoints, and never on the main thread.
  'wal_autocheckpoint = 0',
  // A long reader makes the log grow, and SQLite would keep the space. More than is written between two checkpoints.
  'journal_size_limit = 67108864',
];

export const sqlite: Engine = {
  statements,
  isShared: false,
  beginMigration: 'BEGIN IMMEDIATE',
  listColumns: `
    SELECT tables.name || '.' || columns.name AS name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
    WHERE tables.name NOT GLOB 'sqlite_*'`,
  listTables: `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'`,

  // Checks the file before it is opened: the pragmas would change another program's.
  connect(config, access) {
    const file = findFile(config, mayCreate(access));
    const timeout = config.statementTimeoutMs;
    const isReader = access === 'read';
    const alias = findAlias(file);
    // A backup has no log: it may be a hard link of another one.
    if (alias && !(isReader && !usesLog(file))) throw new StoreProblem(alias);
    if (!isReader) {
      for (const path of [dirname(file), file]) assertWritable(path);
      adoptFile(file);
      assertOurs(file, access, timeout);
    }
    return {
      type: 'better-sqlite3',
      driver: ExactDatabase,
      database: file,
      timeout,
      fileMustExist: true,
      readonly: isReader && hasLog(file),
      extra: identifyFile(file),
      prepareDatabase: (database: ExactDatabase) => {
        for (const pragma of isReader ? ['query_only = ON'] : PRAGMAS) database.pragma(pragma);
        // Each statement has some megabytes, and a read-only container has no folder for SQLite's temporary files.
        if (access === 'fill') database.pragma('temp_store = MEMORY');
      },
    };
  },

  openWriter(store, config) {
    const opened = getOpened(store);
    const options = {
      file: opened.path,
      descriptor: getDatabase(store).descriptor,
      ids: readIds(opened.path),
      opened: [...listNames(opened, config), ...identifyCompanions(opened.path)],
      timeoutMs: config.statementTimeoutMs,
      // 4 MB of pages: each plant of a random id changes a page, and a group that changes more writes them twice.
      pragmas: [...PRAGMAS, 'cache_size = -4000'],
    };
    return new SqliteWriter(options, () => describeExpected(store, opened.path));
  },

  // The queries run on the store's one connection, in whatever transaction is open. At the end of a command assertInPlace()
  // checks where the files are.
  async inspect(store, access) {
    const database = getDatabase(store);
    const list: ListRows = <Row>(sql: string, ...parameters: readonly unknown[]) =>
      database.prepare<unknown[], Row>(sql).all(...parameters);
    const { path } = getOpened(store);
    const found = inspectBySql(list, await describeExpected(store, path));
    if (access === 'read') return found;
    const alias = findAlias(path);
    return [...(alias ? [alias] : []), ...inspectLogMode(list), ...found];
  },

  listMeddlers: `
    SELECT 'the trigger ' || name || ' of plants' AS name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'plants' COLLATE NOCASE
    UNION ALL SELECT 'the clause ON CONFLICT of plants' FROM sqlite_schema
    WHERE name = 'plants' COLLATE NOCASE AND (sql LIKE '%ON CONFLICT REPLACE%' OR sql LIKE '%ON CONFLICT IGNORE%')`,

  shareConnection,

  describeUse,

  assertInPlace(store, config) {
    listNames(getOpened(store), config).forEach(assertInPlace);
  },

  lock: (store) => lockFile(getOpened(store).path),

  // A process killed before the sync leaves plants that can be read, but may not be on the disk: the commit of the id syncs
  // the whole log. If no reader prevents it, the checkpoint also writes all pages of the log to the file again, and so repairs
  // what a failed sync has lost.
  async recover(store) {
    const file = getOpened(store).path;
    const [last] = await store.query<{ application_id: number }[]>('PRAGMA application_id');
    const id = randomInt(1, 2 ** 31);
    writeIds(file, [...readIds(file), last?.application_id ?? 0, id]);
    await store.query(`PRAGMA application_id = ${id}`);
    const [result] = await store.query<{ busy: number }[]>('PRAGMA wal_checkpoint(TRUNCATE)');
    if (result?.busy === 0) writeIds(file, [id]);
  },

  // What is filled is locked before it is found to be empty.
  begin: (runner, access) => runner.query(access === 'fill' ? 'BEGIN IMMEDIATE' : 'BEGIN'),

  async checkFiles({ manager }) {
    type Row = { integrity_check: string };
    const [row] = await manager.query<Row[]>('PRAGMA integrity_check(1)');
    const found = row?.integrity_check.replace('*** in database main ***\n', '') ?? '';
    if (found === 'ok') return;
    // SQLite says only which page of a damaged tree is its first.
    const root = /^Tree (\d+)/.exec(found)?.[1] ?? -1;
    const sql = `SELECT type || ' ' || name || ': ' AS name FROM sqlite_schema WHERE rootpage = ${root}`;
    const [tree] = await manager.query<{ name: string }[]>(sql);
    throw new DamageError((tree?.name ?? '') + found);
  },

  readLines,
};

/** The file before SQLite opened it: a link in DATABASE_URL may lead elsewhere by now. */
function getOpened({ options }: DataSource): OpenedFile {
  return options.extra as OpenedFile;
}

function getDatabase({ driver }: DataSource): ExactDatabase {
  return (driver as BetterSqlite3Driver).databaseConnection as ExactDatabase;
}

function listNames(opened: OpenedFile, config: Config): OpenedFile[] {
  return [opened, { ...opened, path: getPath(config), mayBeLink: true }];
}

/**
 * Whether the file has a log. A reader opens such a file read-only, as it would otherwise remove the log when it closes. It opens
 * a file without a log for writing, as a read-only connection would make a log and leave it there.
 */
function hasLog(file: string): boolean {
  return existsSync(`${file}-wal`);
}

/** @throws SchemaError; Error if it has tables of another program */
function assertOurs(file: string, access: Access, timeout: number): void {
  if (statSync(file).size === 0) return;
  const database = new ExactDatabase(file, { readonly: hasLog(file), timeout });
  try {
    const list = (sql: string) => database.prepare<[], string>(sql).pluck().all();
    const columns = list(sqlite.listColumns);
    if (judgeSchema(columns, list(appliedMigrationsSql(columns))) !== 'foreign') return;
    if (!mayCreate(access)) throw new SchemaError('foreign');
    throw new Error(`${file} has tables of another program: set DATABASE_URL to another file`);
  } finally {
    database.close();
  }
}
