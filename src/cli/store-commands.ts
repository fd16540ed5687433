import type { Command } from 'commander';
import { jsonOption, print, readStoreConfig } from './session.js';

/** `migrate`: for a deployment that changes the schema before it starts the service. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary("bring the store's schema up to date")
    .description(
      'Create the store where there is none, or bring its schema up to date, and list the migrations ' +
        'that were run. The service does the same when it starts; this is for doing it before.',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ DATABASE_URL=sqlite:/srv/plants.sqlite npx plant-store migrate',
    )
    .action(async (_options: unknown, command: Command) => {
      const config = await readStoreConfig(command);
      const { migrateStore } = await import('../database/open-store.js');
      const ran = await migrateStore(config);
      const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
      print(command, lines.join('\n'), { ran });
    });
}

/** `check`: for what a disk did to the store, before it is missed. */
export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .summary('look for damage in the store')
    .description(
      'Read all of the store once, and tell whether it is damaged: the structure of its files, and every ' +
        "value's type and text. PostgreSQL's indexes need the extension amcheck, and the right to run it. " +
        'Nothing is written, and the service may run. The exit code is 1 where something is damaged.',
    )
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ npx plant-store check --json')
    .action(async (_options: unknown, command: Command) => {
      const { runCheck } = await import('./backup/backup.js');
      await runCheck(command);
    });
}
