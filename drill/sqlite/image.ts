import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { query } from '../../bench/sqlite.js';
import type { Ledger } from '../ledger.js';
import { plantOf } from '../plants.js';

type IntegrityRow = { integrity_check: string };

/** What was found in a database file. */
export interface Findings {
  /** Plants that were acknowledged by then. */
  readonly acknowledged: number;
  /** Those of them that are not there, or are not what was sent. */
  readonly lost: number;
  /** What else is wrong: SQLite's own words, or plants that nobody sent. */
  readonly damage?: string;
}

/** Writes down what clients have sent, and when they had their 200, for {@link inspect}. */
export function writeSent({ acknowledged, open }: Ledger, file: string): void {
  rmSync(file, { force: true });
  const database = new Database(file);
  database.exec('CREATE TABLE sent (id INTEGER PRIMARY KEY, name, tag, at INTEGER) WITHOUT ROWID');
  const insert = database.prepare('INSERT INTO sent VALUES (?, ?, ?, ?)');
  database.transaction(() => {
    for (const id of new Set([...acknowledged.keys(), ...open.keys()])) {
      const { name, tag } = plantOf(id);
      insert.run(id, name, tag, acknowledged.get(id)?.at ?? null);
    }
  })();
  database.close();
}

const ACKNOWLEDGED = 'SELECT count(*) FROM sent WHERE at < ?';
const STORED = 'SELECT count(*) FROM plants';
/** In the order of the plants, each of which is looked up among those that were sent. */
const RIGHT = `
  SELECT count(*), coalesce(sum(at < ?), 0) FROM plants CROSS JOIN sent USING (id)
  WHERE plants.name = sent.name AND plants.tag IS sent.tag`;

/**
 * Opens a database as a power cut left it, and looks for the plants that were acknowledged before. It
 * only reads: the file and its log stay as they are.
 *
 * @param sent what {@link writeSent} has written
 * @param at nanoseconds of CLOCK_MONOTONIC
 */
export function inspect(file: string, sent: string, at: bigint): Findings {
  const database = new Database(file, { readonly: true });
  try {
    database.prepare('ATTACH ? AS ledger').run(sent);
    // It is read again for each image: not by a system call for each page.
    database.pragma('ledger.mmap_size = 1000000000');
    const acknowledged = database.prepare(ACKNOWLEDGED).pluck().get(at) as number;
    try {
      return { acknowledged, ...compare(database, acknowledged, at) };
    } catch (error) {
      return { acknowledged, lost: acknowledged, damage: String(error) };
    }
  } finally {
    database.close();
  }
}

function compare(database: Database.Database, acknowledged: number, at: bigint) {
  const damage = faultsIn(database.pragma('integrity_check(3)') as IntegrityRow[]);
  const stored = database.prepare(STORED).pluck().get() as number;
  const [right = 0, found = 0] = database.prepare(RIGHT).raw().get(at) as number[];
  const wrong = [
    ...damage,
    ...(right < stored ? [`${stored - right} plants that nobody sent`] : []),
  ];
  return { lost: acknowledged - found, ...(wrong.length > 0 && { damage: wrong.join('; ') }) };
}

/** What SQLite finds wrong with a database file. */
export function integrityOf(file: string): string[] {
  try {
    return faultsIn(query<IntegrityRow>(file, 'PRAGMA integrity_check(3)'));
  } catch (error) {
    return [String(error)];
  }
}

function faultsIn(rows: readonly IntegrityRow[]): string[] {
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}
