import * as postgres from '../bench/postgres.js';
import * as sqlite from '../bench/sqlite.js';
import { sqliteFileOf } from '../bench/store.js';
import type { Plant } from './plants.js';

/** Plants that are looked up at once. */
const BATCH = 20_000;

type Row = { id: string; name: string; tag: string | null };

/** Those of the plants that are stored behind an address, by their ids. */
export async function findPlants(url: string, ids: readonly bigint[]): Promise<Map<bigint, Plant>> {
  const found = new Map<bigint, Plant>();
  for (let at = 0; at < ids.length; at += BATCH) {
    for (const row of await rowsOf(url, ids.slice(at, at + BATCH).map(String))) {
      found.set(BigInt(row.id), { ...row, id: BigInt(row.id) });
    }
  }
  return found;
}

function rowsOf(url: string, ids: readonly string[]): Row[] | Promise<Row[]> {
  const file = sqliteFileOf(url);
  if (file === undefined) {
    const sql = 'SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])';
    return postgres.query<Row>(url, sql, [ids]);
  }
  return sqlite.query<Row>(
    file,
    `SELECT CAST(id AS TEXT) AS id, name, tag FROM plants
    WHERE id IN (SELECT CAST(value AS INTEGER) FROM json_each(?))`,
    JSON.stringify(ids),
  );
}
