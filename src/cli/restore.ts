import type { Command } from 'commander';
import type { Config } from '../config/config.js';
import { engineOf, StoreUnusableError } from '../database/open-store.js';
import type { Snapshot } from '../database/snapshot.js';
import { describeError } from '../errors/describe.js';
import { JSON_OPTION } from './arguments.js';
import { assertSame, printDigests, withBackup } from './backup.js';
import { readJobConfig, withSnapshot, withStore } from './store.js';
import { copyTables, digestTable, digestTables, finishTokens, TABLES } from './tables.js';
import { onEndingSignal } from './terminal.js';

const CONTINUES = 'run it again, and it continues';

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
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
A file that is no backup, or is damaged, or of a newer version is refused, and so
is a store with other plants or tokens; nothing is written then.

Example, with the new store in DATABASE_URL:
  $ npx plant-store migrate && npx plant-store restore plants-2026-11-22.sqlite`,
    )
    .action(async (file: string, _options: unknown, command: Command) => {
      const config = readJobConfig(command);
      await withBackup(file, async (backup, digests) => {
        const lastKeys = await findLastKeys(config, backup);
        await claimDuring(config, async () => {
          await fillStore(config, backup, lastKeys);
          await withSnapshot(config, async (store) =>
            assertSame(await digestTables(store), digests),
          );
        });
        printDigests(command, digests);
      });
    });
}

/**
 * Finds what an interrupted restore has stored: the store must have the first rows of the backup, and no others.
 *
 * @returns the last key of each table that has rows
 */
function findLastKeys(config: Config, backup: Snapshot): Promise<Map<string, bigint>> {
  return withSnapshot(config, async (store) => {
    const lastKeys = new Map<string, bigint>();
    for (const table of TABLES) {
      const stored = await digestTable('comparing', store, table);
      if (stored.last === undefined) continue;
      const same = await digestTable('comparing', backup, table, { to: stored.last });
      if (same.sha256 !== stored.sha256) {
        throw new Error(
          `the store has ${table.name} that the backup has not: restore fills an empty store; nothing was written`,
        );
      }
      lastKeys.set(table.name, stored.last);
    }
    return lastKeys;
  });
}

/** Keeps services off the store, and tells at a signal how to go on. */
async function claimDuring(config: Config, work: () => Promise<void>): Promise<void> {
  const release = engineOf(config.databaseUrl).claim(config);
  const unlisten = onEndingSignal((signal) => {
    process.stderr.write(`error: stopped by ${signal}; ${CONTINUES}\n`);
    process.kill(process.pid, signal);
  });
  try {
    await work();
  } finally {
    unlisten();
    release();
  }
}

/** @throws StoreUnusableError if nothing was written; else an error that says how to go on */
async function fillStore(
  config: Config,
  backup: Snapshot,
  lastKeys: ReadonlyMap<string, bigint>,
): Promise<void> {
  try {
    await withStore(config, async (store) => {
      await copyTables(backup, store, lastKeys);
      await finishTokens(store);
    });
  } catch (cause) {
    if (cause instanceof StoreUnusableError) throw cause;
    throw new Error(`stopped: ${describeError(cause)}; ${CONTINUES}`, { cause });
  }
}
