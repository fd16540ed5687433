import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readJobConfig } from './arguments.js';

export function addRestoreCommand(program: Command): void {
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
