/**
 * The work of `backup` and `restore`. A backup is a file of SQLite, whatever database the store is in.
 *
 * 1. `backup` copies all rows as they are at one moment, while the service goes on to write. It makes a digest of each table:
 *    the number of its rows, and a hash of them.
 * 2. It writes the digests into the file too, reads the whole file again and compares: damage would show only once the backup
 *    is needed. Only then the file gets its name, so that an unfinished one never has it.
 * 3. It records in the store when it has finished. The metrics have the time, so that an alert can tell of backups that fail.
 * 4. `restore` compares a backup with its digests before it writes. It fills an empty store in one transaction, and compares
 *    what it has written before the commit. If it ends early, the store is still empty.
 * 5. If no response to that commit comes, nobody knows whether the store is filled: the error says how to find out.
 */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { COMMAND, Config } from '../config/config.js';
import { recordBackup } from '../database/last-backup.entity.js';
import { migrateStore, openStore } from '../database/store.js';
import { SchemaError, type SchemaErrorKind } from '../database/store-errors.js';
import { StoreSession } from '../database/store-session.js';
import { describeError, describeReason } from '../errors/operator-message.js';
import { digestTables, formatDigests, warnOfProblems, type Digests } from './backup-tables.js';
import { makeFile } from './new-file.js';
import { printResult, warn } from './terminal.js';

export async function makeBackup(config: Config, file: string): Promise<Digests> {
  const digests = await makeFile(file, config, async (path) => {
    await copyStore(config, configureFile(path));
    return verifyBackup(path);
  });
  await recordTime(config).catch((error: unknown) => {
    warn(`the store does not know of this backup: ${describeError(error)}`);
  });
  return digests;
}

/**
 * Copies a store. It closes the source before the backup is verified: while it is open, SQLite's log grows and PostgreSQL
 * keeps dead rows.
 */
async function copyStore(config: Config, backup: Config): Promise<void> {
  await using source = await StoreSession.open(config);
  warnOfProblems(source);
  await migrateStore(backup);
  await using target = await StoreSession.open(backup, 'fill');
  const digests = formatDigests(await digestTables(source, target));
  await target.query('CREATE TABLE digests (name text, digest text)');
  for (const row of digests) await target.query('INSERT INTO digests VALUES (?, ?)', row);
  await target.commit('the copy is whole');
  // Readers then make no log, so that they can read it in a read-only folder.
  await target.query('PRAGMA journal_mode = DELETE');
}

async function recordTime(config: Config): Promise<void> {
  await using store = await openStore(config, [], 'backup');
  await recordBackup(store.manager);
}

export async function verifyBackup(file: string): Promise<Digests> {
  await using backup = await openBackup(file);
  return await checkDigests(backup, file);
}

/** Fills a store in one transaction, and compares it before the commit. @throws Error if it was not empty, or may be filled */
export async function restoreBackup(config: Config, file: string): Promise<Digests> {
  await using backup = await openBackup(file);
  const digests = await checkDigests(backup, file);
  await using target = await StoreSession.open(config, 'fill');
  for (const { name } of target.tables) {
    const found = await target.query(`SELECT 1 FROM "${name}" LIMIT 1`);
    if (found.length > 0)
      throw new Error(
        `the store has ${name}: nothing was written; stop the service, keep its plants, but not its tokens, by \`${COMMAND} export plants.ndjson\`, restore into an empty one (docs/operating.md#restore), and, once the service runs on that, with a token that is active there \`PLANT_STORE_TOKEN=… ${COMMAND} import plants.ndjson\``,
      );
  }
  await digestTables(backup, target);
  assertSame(await digestTables(target), formatDigests(digests));
  const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
  await target.commit(
    `the store was filled: run \`${COMMAND} check\`; ` +
      `if it prints ${counts.join(', ')}, it was; if it prints 0 of each, restore again`,
  );
  return digests;
}

function configureFile(path: string): Config {
  return Object.assign(new Config(), { databaseUrl: `sqlite:${resolve(path)}` });
}

const NO_BACKUP = `; name a file that \`${COMMAND} backup\` has made`;
/** A backup must not be migrated itself: its digests are those of its columns. */
const ADVICE: Readonly<Record<SchemaErrorKind, string>> = {
  empty: NO_BACKUP,
  foreign: NO_BACKUP,
  older: `: copy it, run \`${COMMAND} migrate\` and \`${COMMAND} backup NEW\` with DATABASE_URL=sqlite:COPY, and use NEW`,
  newer: ': restore it by that version',
};

async function openBackup(file: string): Promise<StoreSession> {
  try {
    return await StoreSession.open(configureFile(file), 'read', true);
  } catch (cause) {
    const reason = (cause as Error).cause;
    const advice = reason instanceof SchemaError ? ADVICE[reason.kind] : '';
    const message = `${file}: the backup cannot be opened: ${describeReason(reason)}${advice}`;
    throw new Error(message, { cause });
  }
}

/** @throws Error if the backup is damaged, or has no digests: it is a store, or a backup of version 1.0.0 */
async function checkDigests(backup: StoreSession, file: string): Promise<Digests> {
  const found = await backup.query("SELECT 1 FROM sqlite_master WHERE name = 'digests'");
  if (found.length === 0) {
    const command = `DATABASE_URL=sqlite:${file} ${COMMAND} backup NEW`;
    throw new Error(`${file} is a store, not a backup: run \`${command}\` first`);
  }
  try {
    await backup.check();
    const digests = await digestTables(backup);
    const rows = await backup.query<{ name: string; digest: string }>('SELECT * FROM digests');
    assertSame(digests, new Map(rows.map(({ name, digest }) => [name, digest])));
    return digests;
  } catch (cause) {
    throw new Error(`${file}: the backup is damaged: ${describeReason(cause)}`, { cause });
  }
}

export function printDigests(command: Command, digests: Digests, ...verdict: readonly string[]) {
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  return printResult(command, [...lines, ...verdict].join('\n'), digests);
}

/** @throws Error naming the first table whose digest is missing or different */
function assertSame(digests: Digests, expected: ReadonlyMap<string, string>): void {
  for (const [name, is] of formatDigests(digests)) {
    const was = expected.get(name);
    if (was === undefined) throw new Error(`the digest of ${name} is missing`);
    if (is !== was) throw new Error(`${name} differ: ${is} instead of ${was}`);
  }
}
