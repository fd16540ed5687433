import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import type { Digests } from './backup-tables.js';
import { readJobConfig } from './store-config.js';
import { printResult } from './terminal.js';

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
      const { makeBackup, verifyBackup } = await import('./backup.js');
      if (verify) await printDigests(program, await verifyBackup(file), 'no damage found');
      else await printDigests(program, await makeBackup(readJobConfig(), file));
    });
}

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
A file that is not a backup, is damaged or of a newer version is refused, and so
is a store with other plants or tokens; nothing is written then.

Example, with the new store in DATABASE_URL:
  $ ${COMMAND} migrate && ${COMMAND} restore plants-2026-11-22.sqlite`,
    )
    .action(async (file: string) => {
      const config = readJobConfig();
      const { restoreBackup } = await import('./backup.js');
      await printDigests(program, await restoreBackup(config, file));
    });
}

async function printDigests(
  program: Command,
  digests: Digests,
  ...verdict: readonly string[]
): Promise<void> {
  const { formatDigests } = await import('./backup-tables.js');
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  await printResult(program, [...lines, ...verdict].join('\n'), digests);
}
