import type { Command } from 'commander';
import type { Config } from '../config/config.js';
import { selectEngine, StoreUnusableError } from '../database/open-store.js';
import type { Snapshot } from '../database/snapshot.js';
import { describeError } from '../errors/describe.js';
import { JSON_OPTION } from './arguments.js';
import { assertSame, printDigests, withBackup } from './backup.js';
import { readJobConfig, withSnapshot, withStore } from './store.js';
import {
  copyTables,
  digestTable,
  digestTables,
  findLastKey,
  finishTokens,
  formatDigests,
  TABLES,
  type Digests,
} from './tables.js';
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
        await fillStore(config, backup, lastKeys, digests);
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
      const last = await findLastKey(store, table);
      if (last === undefined) continue;
      const same = await digestTable('comparing', backup, table, { to: last });
      if (same.sha256 !== stored.sha256) {
        throw new Error(
          `the store has ${table.name} that the backup has not: restore fills an empty store; nothing was written`,
        );
      }
      lastKeys.set(table.name, last);
    }
    return lastKeys;
  });
}

/** Copies what the store lacks, while no service can claim it, and compares the store with the digests. */
async function fillStore(
  config: Config,
  backup: Snapshot,
  lastKeys: ReadonlyMap<string, bigint>,
  digests: Digests,
): Promise<void> {
  const release = selectEngine(config.databaseUrl).claim?.(config);
  const unlisten = onEndingSignal((signal) => {
    process.stderr.write(`error: stopped by ${signal}; ${CONTINUES}\n`);
    process.kill(process.pid, signal);
  });
  try {
    await withStore(config, async (store) => {
      await copyTables(backup, store, lastKeys);
      await finishTokens(store);
    }).catch((cause: unknown) => {
      // Nothing was written yet.
      if (cause instanceof StoreUnusableError) throw cause;
      throw new Error(`stopped: ${describeError(cause)}; ${CONTINUES}`, { cause });
    });
    const filled = await withSnapshot(config, digestTables);
    assertSame(formatDigests(filled), formatDigests(digests));
  } finally {
    unlisten();
    release?.();
  }
}
