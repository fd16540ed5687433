import type { Command } from 'commander';
import { COMMAND, type Config } from '../config/config.js';
import { loadEngine, openStore, StoreUnusableError } from '../database/store.js';
import { Snapshot } from '../database/snapshot.js';
import { dropLog } from '../database/sqlite/engine.js';
import { describeError } from '../errors/operator-message.js';
import { Plant } from '../plants/plant.entity.js';
import { makeFile } from './new-file.js';
import { configureFile, readJobConfig } from './store-config.js';
import {
  digestTable,
  digestTables,
  finishTokens,
  formatDigests,
  TABLE_NAMES,
  TABLES,
  type Digests,
} from './backup-tables.js';
import { onEndingSignal, printResult } from './terminal.js';

/** `backup`: copies all of the store, as of one moment, to a SQLite store with digests. `restore` below reads it. */
export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .summary('back up the store into a file')
    .description(
      'Make a file of all that the store, SQLite or PostgreSQL, holds at one moment, while the service ' +
        "runs: plants and who created them, tokens' hashes. The file is read again, compared, and put in " +
        'its place once it is whole. By counts and digests in it --verify and restore notice a changed ' +
        'value; they ignore unused space. It is a SQLite store: the service can run on a copy of it.',
    )
    .argument('<file>', 'the file; replaced, unless --verify is given')
    .option('--verify', 'only check FILE; exit with 1 if it is damaged')
    .addHelpText(
      'after',
      `
It is as secret as the store, and only its owner can read it.

Examples:
  $ ${COMMAND} backup /var/backups/plants-$(date +%F).sqlite
  $ ${COMMAND} backup --verify /var/backups/plants-2026-11-22.sqlite`,
    )
    .action(async (file: string, { verify }: { verify?: true }, command: Command) => {
      if (file === '-') command.error('error: a backup is a file, not the standard output');
      const make = () => makeBackup(readJobConfig(program), file);
      printDigests(program, await (verify ? verifyBackup(file) : make()));
    });
}

/** `restore`: after the loss of a store, or for moving to another engine or server. */
export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .summary('fill an empty store from a backup')
    .description(
      'Fill the store, SQLite or PostgreSQL, with what a backup holds. The store must exist and be ' +
        'empty; what an interrupted restore of the same backup has left is continued. All of the ' +
        'backup is read and compared with its digests first, and all of the store at the end.',
    )
    .argument('<file>', 'the backup')
    .addHelpText(
      'after',
      `
A file that is no backup, or is damaged, or of a newer version is refused, and so
is a store with other plants or tokens; nothing is written then.

Example, with the new store in DATABASE_URL:
  $ ${COMMAND} migrate && ${COMMAND} restore plants-2026-11-22.sqlite`,
    )
    .action(async (file: string) => {
      const config = readJobConfig(program);
      await using backup = await openBackup(file);
      const digests = await checkDigests(backup, file);
      const lastKeys = await findLastKeys(config, backup);
      await fillStore(config, backup, lastKeys, digests);
      printDigests(program, digests);
    });
}

async function makeBackup(config: Config, file: string): Promise<Digests> {
  await using source = await Snapshot.open(config);
  return await makeFile(file, config, async (path) => {
    await copyStore(source, path);
    dropLog(path);
    return verifyBackup(path, file);
  });
}

async function copyStore(source: Snapshot, path: string): Promise<void> {
  await using target = await openStore(configureFile(path), [Plant]);
  const digests = formatDigests(await digestTables(source, target));
  await target.query('CREATE TABLE digests (name text, digest text)');
  for (const row of digests) await target.query('INSERT INTO digests VALUES (?, ?)', row);
}

/** @param name what an error calls the file */
async function verifyBackup(path: string, name = path): Promise<Digests> {
  await using backup = await openBackup(path, name);
  return await checkDigests(backup, name);
}

/** @throws StoreUnusableError if the file is no store */
function openBackup(path: string, name = path): Promise<Snapshot> {
  return Snapshot.open(configureFile(path), `${name}: the backup`);
}

/** @throws Error if the backup is damaged, or has no digests: it is a store, or a backup of version 1.0.0 */
async function checkDigests(backup: Snapshot, name: string): Promise<Digests> {
  const found = await backup.query("SELECT 1 FROM sqlite_master WHERE name = 'digests'");
  if (found.length === 0) {
    const command = `DATABASE_URL=sqlite:${name} ${COMMAND} backup NEW`;
    throw new Error(`${name} is a store, not a backup: run \`${command}\` first`);
  }
  try {
    await backup.check(TABLE_NAMES);
    const digests = await digestTables(backup);
    const rows = await backup.query<{ name: string; digest: string }>('SELECT * FROM digests');
    assertSame(digests, new Map(rows.map(({ name, digest }) => [name, digest])));
    return digests;
  } catch (cause) {
    throw new Error(`${name}: the backup is damaged: ${describeError(cause)}`, { cause });
  }
}

/**
 * Finds what an interrupted restore has stored: the store must have the first rows of the backup, and no others.
 *
 * @returns the last key of each table that has rows
 */
async function findLastKeys(config: Config, backup: Snapshot): Promise<Map<string, bigint>> {
  await using store = await Snapshot.open(config);
  const lastKeys = new Map<string, bigint>();
  for (const table of TABLES) {
    const stored = await digestTable('comparing', store, table);
    const sql = `SELECT CAST(MAX(id) AS TEXT) AS last FROM ${table.name}`;
    const [row] = await store.query<{ last: string | null }>(sql);
    if (row?.last == null) continue;
    const to = BigInt(row.last);
    const same = await digestTable('comparing', backup, table, { to });
    if (same.sha256 !== stored.sha256) {
      throw new Error(
        `the store contains ${table.name} that are not in the backup: restore needs an empty store; nothing was written`,
      );
    }
    lastKeys.set(table.name, to);
  }
  return lastKeys;
}

/** Copies what the store lacks, while no service can lock it, and compares the store with the digests. */
async function fillStore(
  config: Config,
  backup: Snapshot,
  lastKeys: ReadonlyMap<string, bigint>,
  digests: Digests,
): Promise<void> {
  const engine = await loadEngine(config.databaseUrl);
  using _lock = engine.lock?.(config);
  using _listening = onEndingSignal((signal) => {
    process.stderr.write(`error: stopped by ${signal}; run it again, and it continues\n`);
    process.kill(process.pid, signal);
  });
  try {
    await using store = await openStore(config, [Plant]);
    await digestTables(backup, store, lastKeys);
    await finishTokens(store);
  } catch (cause) {
    // Nothing was written yet.
    if (cause instanceof StoreUnusableError) throw cause;
    throw new Error(`stopped: ${describeError(cause)}; run it again, and it continues`, { cause });
  }
  await using filled = await Snapshot.open(config);
  assertSame(await digestTables(filled), formatDigests(digests));
}

/** @throws Error naming the first table whose digest is missing or different */
function assertSame(digests: Digests, expected: ReadonlyMap<string, string>): void {
  for (const [name, is] of formatDigests(digests)) {
    const was = expected.get(name);
    if (was === undefined) throw new Error(`the digest of ${name} is missing`);
    if (is !== was) throw new Error(`${name} differ: ${is} instead of ${was}`);
  }
}

function printDigests(program: Command, digests: Digests): void {
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  printResult(program, lines.join('\n'), digests);
}
