import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readJobConfig } from './arguments.js';

/** Adds `backup` and `restore`; backup.ts does their work. */
export function addBackupCommands(program: Command): void {
  program
    .command('backup')
    .description('copy the store, as of one moment, into a file, which is read again and compared')
    .argument('<file>', 'the file; replaced, unless --verify is given')
    .option('--verify', 'only check FILE; exit with 1 if it is damaged')
    .addHelpText(
      'after',
      `
The file is as secret as the store: a SQLite store too, which only its owner can read.

Example:
  $ ${COMMAND} backup /var/backups/plants-$(date +%F).sqlite`,
    )
    .action(async (file: string, { verify }: { verify?: true }, command: Command) => {
      if (file === '-') command.error('error: a backup is a file, not the standard output');
      // The driver trims names, and could not verify such a backup.
      if (!verify && file.trimEnd() !== file)
        command.error('error: the name of a backup must not end with a blank');
      const { makeBackup, printDigests, verifyBackup } = await import('./backup.js');
      if (verify) await printDigests(program, await verifyBackup(file), 'no damage found');
      else await printDigests(program, await makeBackup(readJobConfig(), file));
    });

  program
    .command('restore')
    .description('fill an empty store from a backup, in one transaction')
    .argument('<file>', 'the backup')
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} migrate && ${COMMAND} restore plants.sqlite`)
    .action(async (file: string) => {
      const { printDigests, restoreBackup } = await import('./backup.js');
      await printDigests(program, await restoreBackup(readJobConfig(), file));
    });
}
