import type { Command } from 'commander';
import { inspectConfig, type Setting } from '../config/environment.js';
import { migrateStore } from '../database/open-store.js';
import { readKeyPair } from '../http/key-pair.js';
import { JSON_OPTION } from './arguments.js';
import { readStoreConfig } from './store.js';
import { alignColumns, printResult } from './terminal.js';

/** `config`: prints and checks the configuration. */
export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .summary('print and check the configuration')
    .description(
      "Print every variable of the service's configuration, its value and its source: the environment, " +
        'the file .env or --env-file, the file that NAME_FILE names, or the default. Secrets are masked. ' +
        'An invalid configuration exits with 78.',
    )
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample:\n  $ npx plant-store config --env-file /etc/plant-store/plant-store.env',
    )
    .action((_options: unknown, command: Command) => {
      const { settings: variables, problems } = inspectConfig();
      printResult(command, formatSettings(variables), { variables, problems });
      readKeyPair(readStoreConfig(command));
    });
}

/** `migrate`: for a deployment that changes the schema before it starts the service. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary("bring the store's schema up to date")
    .description(
      'Create the store if there is none, or bring its schema up to date, and list the migrations ' +
        'that were run. The service does the same when it starts, unless MIGRATE is off.',
    )
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      '\nExample:\n  $ DATABASE_URL=sqlite:/srv/plants.sqlite npx plant-store migrate',
    )
    .action(async (_options: unknown, command: Command) => {
      const ran = await migrateStore(readStoreConfig(command));
      const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
      printResult(command, lines.join('\n'), { ran });
    });
}

function formatSettings(settings: readonly Setting[]): string {
  const rows = settings.map(({ name, value = '(invalid)', from }) => [name, value || '-', from]);
  return alignColumns([['VARIABLE', 'VALUE', 'FROM'], ...rows]);
}
