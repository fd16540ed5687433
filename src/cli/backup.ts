import type { Command } from 'commander';
import type { Store } from '../database/open-store.js';
import type { Snapshot } from '../database/snapshot.js';
import { dropLog } from '../database/sqlite.js';
import { isDamage } from '../database/store-errors.js';
import { describeError } from '../errors/describe.js';
import { JSON_OPTION } from './arguments.js';
import { makeFile } from './new-file.js';
import { assertNotStore, configureFile, readJobConfig, withSnapshot, withStore } from './store.js';
import { copyTables, digestTables, formatDigests, TABLE_NAMES, type Digests } from './tables.js';
import { printResult } from './terminal.js';

/** `backup`: copies all of the store, as of one moment, to a SQLite store with digests. */
export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .summary('back up the store into a file')
    .description(
      'Make a file of all that the store, SQLite or PostgreSQL, holds at one moment, while the service ' +
        "runs: plants and who created them, tokens' hashes. The file is read again, compared, and put in " +
        'its place once it is whole. It has counts and digests of its content, by which --verify and ' +
        'restore notice damage. It is a SQLite store: the service can run on a copy of it.',
    )
    .argument('<file>', 'the file; replaced, unless --verify is given')
    .option('--verify', 'make nothing: read a backup, and exit with 1 if it is damaged')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
It is as secret as the store, and only its owner can read it.

Examples:
  $ npx plant-store backup /var/backups/plants-$(date +%F).sqlite
  $ npx plant-store backup --verify /var/backups/plants-2026-11-22.sqlite`,
    )
    .action(async (file: string, { verify }: { verify?: true }, command: Command) => {
      if (file === '-') command.error('error: a backup is a file, not the standard output');
      const digests = verify ? await verifyBackup(file) : await makeBackup(command, file);
      printDigests(command, digests);
    });
}

/** `check`: finds what a disk has damaged before it is needed. */
export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .summary('look for damage in the store')
    .description(
      'Read all of the store once, and tell whether it is damaged: the structure of its files, and every ' +
        "value's type and text. PostgreSQL's indexes need the extension amcheck, and the right to run it. " +
        'Nothing is written, and the service may run. The exit code is 1 if something is damaged.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  $ npx plant-store check --json')
    .action(async (_options: unknown, command: Command) => {
      try {
        await withSnapshot(readJobConfig(command), async (store) => {
          const indexes = await store.check(TABLE_NAMES);
          const digests = await digestTables(store);
          const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
          const unchecked = indexes ? '' : '; indexes not checked (amcheck)';
          const text = `${counts.join(', ')}; no damage found${unchecked}`;
          printResult(command, text, { ...digests, indexes });
        });
      } catch (cause) {
        if (!isDamage(cause)) throw cause;
        const advice =
          'the store is damaged: docs/operating.md, "A damaged store", says what to do';
        throw new Error(`${describeError(cause)}; ${advice}`, { cause });
      }
    });
}

async function makeBackup(command: Command, file: string): Promise<Digests> {
  const config = readJobConfig(command);
  assertNotStore(file, config);
  return withSnapshot(config, (source) =>
    makeFile(file, async (path) => {
      await withStore(configureFile(path), async (target) =>
        writeDigests(target, await copyTables(source, target)),
      );
      dropLog(path);
      return verifyBackup(path, file);
    }),
  );
}

/** @param name what an error calls the file */
function verifyBackup(path: string, name = path): Promise<Digests> {
  return withBackup(path, (_backup, digests) => Promise.resolve(digests), name);
}

/**
 * Works on a backup that is not damaged.
 *
 * @param name what an error calls the file
 * @throws StoreUnusableError if the file is no store; Error if it is damaged or has no digests
 */
export function withBackup<Result>(
  path: string,
  work: (backup: Snapshot, digests: Digests) => Promise<Result>,
  name = path,
): Promise<Result> {
  return withSnapshot(
    configureFile(path),
    async (backup) => {
      const digests = await checkDigests(backup).catch((cause: unknown) => {
        throw new Error(`${name}: the backup is damaged: ${describeError(cause)}`, { cause });
      });
      if (!digests) {
        const command = `DATABASE_URL=sqlite:${name} plant-store backup NEW`;
        throw new Error(`${name} has no digests, as a store has none: first run \`${command}\``);
      }
      return work(backup, digests);
    },
    `${name}: the backup`,
  );
}

/** @returns undefined for a store, or a backup of version 1.0.0, which have no digests */
async function checkDigests(backup: Snapshot): Promise<Digests | undefined> {
  const found = await backup.query("SELECT 1 FROM sqlite_master WHERE name = 'digests'");
  if (found.length === 0) return undefined;
  await backup.check(TABLE_NAMES);
  const digests = await digestTables(backup);
  const rows = await backup.query<{ name: string; digest: string }>('SELECT * FROM digests');
  const expected = new Map(rows.map(({ name, digest }) => [name, digest]));
  assertSame(formatDigests(digests), expected);
  return digests;
}

async function writeDigests(store: Store, digests: Digests): Promise<void> {
  await store.query('CREATE TABLE digests (name text, digest text)');
  for (const row of formatDigests(digests)) {
    await store.query('INSERT INTO digests VALUES (?, ?)', row);
  }
}

type DigestTexts = ReturnType<typeof formatDigests>;

/** @throws Error naming the first table whose digest is missing or different */
export function assertSame(digests: DigestTexts, expected: DigestTexts): void {
  for (const [name, is] of digests) {
    const was = expected.get(name);
    if (was === undefined) throw new Error(`the digest of ${name} is missing`);
    if (is !== was) throw new Error(`${name} differ: ${is} instead of ${was}`);
  }
}

export function printDigests(command: Command, digests: Digests): void {
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  printResult(command, lines.join('\n'), digests);
}
