import type { Command } from 'commander';
import type { Config } from '../../config/config.js';
import {
  selectEngine,
  openStore,
  StoreUnusableError,
  type Store,
} from '../../database/open-store.js';
import { Snapshot } from '../../database/snapshot.js';
import { dropLog } from '../../database/sqlite.js';
import { isDamage } from '../../database/store-errors.js';
import { describeError } from '../../errors/describe.js';
import { Plant } from '../../plants/plant.entity.js';
import { makeFile } from '../new-file.js';
import { onEndingSignal, print } from '../session.js';
import { assertNotStore, fileConfig, storeConfig } from './stores.js';
import {
  digestsOf,
  finishTokens,
  read,
  rowsOf,
  TABLES,
  type Digest,
  type Digests,
} from './tables.js';

/** What to do where a restore has stopped. */
const CONTINUES = 'run it again, and it continues';

/** What to do with a damaged store. */
const REPAIR = 'the store is damaged: docs/operating.md, "A damaged store", says what to do';

const NAMES = TABLES.map(({ name }) => name);

/**
 * Makes a SQLite store of all that the store holds at one moment, which the service may use meanwhile, with its digests.
 *
 * @throws StoreUnusableError; the error of the store or of the file, which is then left as it was
 */
export async function runBackup(command: Command, file: string): Promise<void> {
  const config = await storeConfig(command);
  assertNotStore(file, config);
  const source = await Snapshot.open(config);
  try {
    const made = await makeFile(file, async (path) => {
      await fill(fileConfig(path), source, new Map(), writeDigests);
      dropLog(path);
      return withBackup(path, file, (_backup, digests) => digests);
    });
    report(command, made);
  } finally {
    await source.close();
  }
}

/** Reads a backup. @throws Error where it is not as it was made */
export async function runVerify(command: Command, file: string): Promise<void> {
  report(command, await withBackup(file, file, (_backup, digests) => digests));
}

/**
 * Fills the store, which must be there and empty, with what a backup holds. Where it was interrupted, it continues.
 *
 * @throws Error, with nothing written, where the backup is not whole or the store has other rows; the store's error
 */
export async function runRestore(command: Command, file: string): Promise<void> {
  const config = await storeConfig(command);
  await withBackup(file, file, async (backup, digests) => {
    const stored = await compare(config, backup);
    const release = selectEngine(config.databaseUrl).claim(config);
    const unlisten = onEndingSignal((signal) => {
      process.stderr.write(`error: stopped by ${signal}; ${CONTINUES}\n`);
      process.kill(process.pid, signal);
    });
    try {
      await fill(config, backup, stored, finishTokens).catch((error: unknown) => {
        // It was not even opened.
        if (error instanceof StoreUnusableError) throw error;
        const reason = `stopped: ${describeError(error)}; ${CONTINUES}`;
        throw new Error(reason, { cause: error });
      });
      await withStore(config, async (store) => assertSame(await digestsOf(store), digests));
      report(command, digests);
    } finally {
      unlisten();
      release();
    }
  });
}

/** Reads all of the store, which the service may use meanwhile, and writes nothing. @throws Error where it is damaged */
export async function runCheck(command: Command): Promise<void> {
  const config = await storeConfig(command);
  try {
    await withStore(config, async (store) => {
      const indexes = await store.check(NAMES);
      const digests = await digestsOf(store);
      const counts = Array.from(digests, ([name, { count }]) => `${name}: ${count}`).join(', ');
      const unchecked = indexes ? '' : '; indexes not checked (amcheck)';
      print(command, `${counts}; no damage found${unchecked}`, {
        ...Object.fromEntries(digests),
        indexes,
      });
    });
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new Error(`${describeError(error)}; ${REPAIR}`, { cause: error });
  }
}

async function withStore(config: Config, work: (store: Snapshot) => Promise<void>): Promise<void> {
  const store = await Snapshot.open(config);
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

/** Opens a backup that is as it was made. @param name what an error calls it */
async function withBackup<Result>(
  path: string,
  name: string,
  work: (backup: Snapshot, digests: Digests) => Result | Promise<Result>,
): Promise<Result> {
  const backup = await Snapshot.open(fileConfig(path), { name: `${name}: the backup`, advice: '' });
  try {
    const digests = await verify(backup).catch((error: unknown) => {
      const reason = `${name}: the backup is damaged: ${describeError(error)}`;
      throw new Error(reason, { cause: error });
    });
    if (!digests) {
      const command = `DATABASE_URL=sqlite:${name} plant-store backup NEW`;
      throw new Error(`${name} has no digests, as a store has none: first run \`${command}\``);
    }
    return await work(backup, digests);
  } finally {
    await backup.close();
  }
}

/** @returns undefined where a backup has no digests, as a store has none, and a backup of 1.0.0 */
async function verify(backup: Snapshot): Promise<Digests | undefined> {
  const has = await backup.query("SELECT 1 FROM sqlite_master WHERE name = 'digests'");
  if (has.length === 0) return undefined;
  await backup.check(NAMES);
  const digests = await digestsOf(backup);
  const rows = await backup.query<{ name: string; digest: string }>('SELECT * FROM digests');
  assertSame(digests, new Map(rows.map(({ name, digest }) => [name, digest])));
  return digests;
}

async function writeDigests(store: Store, digests: Digests): Promise<void> {
  await store.query('CREATE TABLE digests (name text, digest text)');
  for (const [name, digest] of digests)
    await store.query('INSERT INTO digests VALUES (?, ?)', [name, String(digest)]);
}

function assertSame(found: Digests, expected: ReadonlyMap<string, string | Digest>): void {
  for (const [name, digest] of found) {
    if (!expected.has(name)) throw new Error(`the digest of ${name} is missing`);
    const [is, was] = [String(digest), String(expected.get(name))];
    if (is !== was) throw new Error(`${name} differ: ${is} instead of ${was}`);
  }
}

/**
 * Finds what an interrupted restore has stored: what the target has must be where the backup begins.
 *
 * @returns the last key of each table that has rows
 */
async function compare(config: Config, backup: Snapshot): Promise<Map<string, bigint>> {
  const stored = new Map<string, bigint>();
  await withStore(config, async (target) => {
    for (const table of TABLES) {
      const there = await read('comparing', target, table);
      if (there.last === undefined) continue;
      const same = await read('comparing', backup, table, { to: there.last });
      if (same.sha256 !== there.sha256) {
        throw new Error(
          `the store has ${table.name} that the backup has not: restore fills an empty store; nothing was written`,
        );
      }
      stored.set(table.name, there.last);
    }
  });
  return stored;
}

/** Stores what a store lacks of each table, after the last key that it has, and then finishes with what was stored. */
async function fill(
  config: Config,
  source: Snapshot,
  stored: ReadonlyMap<string, bigint>,
  finish: (store: Store, digests: Digests) => Promise<void>,
): Promise<void> {
  const store = await openStore(config, [Plant]);
  try {
    const digests = new Map<string, Digest>();
    for (const table of TABLES) {
      const rest = { after: stored.get(table.name) };
      const insert = (chunk: Buffer) => table.insert(store, rowsOf(chunk));
      digests.set(table.name, await read('copying', source, table, rest, insert));
    }
    await finish(store, digests);
  } finally {
    await store.destroy();
  }
}

/** Prints what both sides hold, a line for each table. */
function report(command: Command, digests: Digests): void {
  const lines = Array.from(digests, ([name, digest]) => `${name}: ${String(digest)}`);
  print(command, lines.join('\n'), Object.fromEntries(digests));
}
