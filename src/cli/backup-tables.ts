import { createHash } from 'node:crypto';
import type { StoreSession } from '../database/store-session.js';
import { describeError } from '../errors/operator-message.js';
import { showProgress, warn } from './terminal.js';

/** Passes chunks of lines on, and counts the lines. */
export async function* countLines(
  chunks: AsyncIterable<Buffer>,
  done: { count: number },
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    yield chunk;
    for (let at = -1; (at = chunk.indexOf('\n', at + 1)) !== -1;) done.count += 1;
  }
}

type Digest = Readonly<{ count: number; sha256: string }>;
export type Digests = Readonly<Record<string, Digest>>;

/**
 * Reads all of a store, and copies it to a target if there is one. Returns digests of what was read: of lines with a JSON
 * array of strings each, the same on every engine. @throws Error if the store has a table that it would leave out;
 * DamageError
 */
export async function digestTables(store: StoreSession, target?: StoreSession): Promise<Digests> {
  const leftOut = await store.describeLeftOut();
  if (leftOut) warn(`left out: ${leftOut}`);
  const digests: Record<string, Digest> = {};
  for (const table of store.tables) {
    const hash = createHash('sha256');
    const rows = { count: 0 };
    const verb = target ? 'copied' : 'read';
    using _progress = showProgress(() => `${table.name}: ${verb} ${rows.count}`);
    await store.assertUnique(table);
    const lines = store.readLines({ table, columns: table.columns, form: 'array' });
    for await (const chunk of countLines(lines, rows)) {
      hash.update(chunk);
      if (target)
        await target.insert(table, `[${chunk.toString().trimEnd().replaceAll('\n', ',')}]`);
    }
    digests[table.name] = { ...rows, sha256: hash.digest('hex') };
  }
  return digests;
}

/** Warns of what is wrong with a store, though it can be read: rows may be lost or changed by now. */
export function warnOfProblems({ problems }: StoreSession): void {
  for (const problem of problems) warn(describeError(problem));
}

export function formatDigests(digests: Digests): ReadonlyMap<string, string> {
  const entries = Object.entries(digests);
  return new Map(entries.map(([name, { count, sha256 }]) => [name, `${count}, sha256 ${sha256}`]));
}
