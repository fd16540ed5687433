import { query } from '../bench/postgres.js';
import type { Plant } from './plants.js';

/** Plants that are looked up at once. */
const BATCH = 20_000;

/** Those of the plants that are stored, by their ids. */
export async function findPlants(url: string, ids: readonly bigint[]): Promise<Map<bigint, Plant>> {
  const found = new Map<bigint, Plant>();
  for (let at = 0; at < ids.length; at += BATCH) {
    const rows = await query<{ id: string; name: string; tag: string | null }>(
      url,
      'SELECT id, name, tag FROM plants WHERE id = ANY($1::bigint[])',
      [ids.slice(at, at + BATCH)],
    );
    for (const row of rows) found.set(BigInt(row.id), { ...row, id: BigInt(row.id) });
  }
  return found;
}

/** @throws Error where a server's 200 would not mean stable storage: the drill would show nothing */
export async function demandDurability(url: string): Promise<void> {
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    const [row] = await query<{ value: string }>(url, 'SELECT current_setting($1) AS value', [
      name,
    ]);
    if (row?.value !== 'on') throw new Error(`${name} is ${row?.value}`);
  }
}
