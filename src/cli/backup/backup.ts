import { statSync } from 'node:fs';
import type { Command } from 'commander';
import type { Config } from '../../config/config.js';
import { engineOf, openStore, StoreUnusableError } from '../../database/open-store.js';
import { Snapshot, type Subject } from '../../database/snapshot.js';
import { dropLog } from '../../database/sqlite.js';
import { describeError } from '../../errors/describe.js';
import { Plant } from '../../plants/plant.entity.js';
import { makeFile } from '../new-file.js';
import { progressOf } from '../progress.js';
import { onEndingSignal, print } from '../session.js';
import { assertNotStore, fileConfig, storeConfig } from './stores.js';
import {
  Digest,
  finishTokens,
  linesOf,
  rowsOf,
  TABLES,
  type Chunks,
  type Table,
} from './tables.js';

/** What to do where a restore has stopped. */
const CONTINUES = 'run it again, and it continues';

/** A table on its way from one store to another. */
interface Part {
  readonly table: Table;
  /** Of the source's rows that are in the target. */
  readonly digest: Digest;
  /** The last of their keys; undefined where there are none. */
  last?: bigint | undefined;
}

/**
 * Makes a SQLite store of all that the store holds at one moment, which the service may use meanwhile.
 *
 * @throws StoreUnusableError; the error of the store or of the file, which is then left as it was
 */
export async function runBackup(command: Command, file: string): Promise<void> {
  const config = await storeConfig(command);
  assertNotStore(file, config);
  const source = await Snapshot.open(config);
  try {
    const parts = TABLES.map((table) => ({ table, digest: new Digest() }));
    await makeFile(file, async (path) => {
      const target = fileConfig(path);
      await fill(target, source, parts, backupIn(file));
      dropLog(path);
      await verify(target, parts, backupIn(file));
    });
    report(command, parts);
  } finally {
    await source.close();
  }
}

/**
 * Fills the store, which must be there and empty, with what a backup holds. Where it was interrupted, it continues.
 *
 * @throws Error, with nothing written, where the backup is not whole or the store has other rows; the store's error
 */
export async function runRestore(command: Command, file: string): Promise<void> {
  const config = await storeConfig(command);
  const source = await openBackup(file);
  try {
    const parts = await compare(config, source);
    const release = engineOf(config.databaseUrl).claim(config);
    const unlisten = onEndingSignal((signal) => {
      process.stderr.write(`error: stopped by ${signal}; ${CONTINUES}\n`);
      process.kill(process.pid, signal);
    });
    try {
      await fill(config, source, parts).catch((error: unknown) => {
        // It was not even opened.
        if (error instanceof StoreUnusableError) throw error;
        const reason = `stopped: ${describeError(error)}; ${CONTINUES}`;
        throw new Error(reason, { cause: error });
      });
      await verify(config, parts);
      report(command, parts);
    } finally {
      unlisten();
      release();
    }
  } finally {
    await source.close();
  }
}

async function openBackup(file: string): Promise<Snapshot> {
  const backup = await Snapshot.open(fileConfig(file), backupIn(file));
  const reason = await damageOf(file, backup);
  if (reason === undefined) return backup;
  await backup.close();
  throw new Error(`${file}: the backup is damaged: ${reason}`);
}

function backupIn(file: string): Subject {
  return { name: `${file}: the backup`, advice: '' };
}

async function damageOf(file: string, backup: Snapshot): Promise<string | undefined> {
  const [row] = await backup.query<{ page_size: number }>('PRAGMA page_size');
  // SQLite notices where whole pages are missing, and reads zeros for the rest of one.
  if (statSync(file).size % (row?.page_size ?? 1) !== 0) return 'its end is missing';
  const [check] = await backup.query<{ integrity_check: string }>('PRAGMA integrity_check(1)');
  return check?.integrity_check === 'ok' ? undefined : check?.integrity_check;
}

/** Finds what an interrupted restore has left to do: what the target has must be where the backup begins. */
async function compare(config: Config, source: Snapshot): Promise<Part[]> {
  const target = await Snapshot.open(config);
  try {
    const parts: Part[] = [];
    for (const table of TABLES) {
      const there: Part = { table, digest: new Digest() };
      const part: Part = { table, digest: new Digest() };
      await read('comparing', there, linesOf(target, table));
      if (there.last !== undefined) {
        await read('comparing', part, linesOf(source, table, { to: there.last }));
      }
      if (part.digest.text() !== there.digest.text()) {
        throw new Error(
          `the store has ${table.name} that the backup has not: restore fills an empty store; nothing was written`,
        );
      }
      parts.push(part);
    }
    return parts;
  } finally {
    await target.close();
  }
}

/** Stores in the target what it lacks of each part. */
async function fill(
  config: Config,
  source: Snapshot,
  parts: readonly Part[],
  subject?: Subject,
): Promise<void> {
  const store = await openStore(config, [Plant], subject?.name);
  try {
    for (const part of parts) {
      const { table, last } = part;
      const from = last === undefined ? undefined : last + 1n;
      const rest = linesOf(source, table, { from });
      await read('copying', part, rest, (chunk) => table.insert(store, rowsOf(chunk)));
    }
    await finishTokens(store);
  } finally {
    await store.destroy();
  }
}

/** Reads the target again. @throws Error where it holds anything else than the parts */
async function verify(config: Config, parts: readonly Part[], subject?: Subject): Promise<void> {
  const target = await Snapshot.open(config, subject);
  try {
    for (const { table, digest } of parts) {
      const there: Part = { table, digest: new Digest() };
      await read('checking', there, linesOf(target, table));
      if (there.digest.text() === digest.text()) continue;
      throw new Error(`${table.name} differ: ${there.digest.text()} instead of ${digest.text()}`);
    }
  } finally {
    await target.close();
  }
}

/** Prints what both sides hold, a line for each table. */
function report(command: Command, parts: readonly Part[]): void {
  const lines = parts.map(({ table, digest }) => `${table.name}: ${digest.text()}`);
  const found = parts.map(({ table, digest: { count, sha256 } }) => [
    table.name,
    { count, sha256 },
  ]);
  print(command, lines.join('\n'), Object.fromEntries(found));
}

/** Adds lines to the digest of a part, each chunk once something is done with it. */
async function read(
  stage: string,
  part: Part,
  chunks: Chunks,
  work?: (chunk: Buffer) => Promise<unknown>,
): Promise<void> {
  const progress = progressOf(`${stage} ${part.table.name}:`, part.digest);
  let end: Buffer | undefined;
  try {
    for await (const chunk of chunks) {
      await work?.(chunk);
      part.digest.add((end = chunk));
    }
  } finally {
    progress.end();
  }
  if (end !== undefined) part.last = BigInt(rowsOf(end).at(-1)?.[0] ?? 0);
}
