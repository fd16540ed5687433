import type { Command } from 'commander';
import type { Setting } from '../config/environment.js';
import { alignColumns, jsonOption, print, readStoreConfig } from './session.js';

const DESCRIPTION =
  "Print every variable of the service's configuration, its value and where that comes from: the environment, " +
  'the file .env or --env-file, the file that NAME_FILE names, or the default. Secrets are masked. ' +
  'An invalid configuration exits with 78.';

/** `config`: shows and checks the configuration. */
export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .summary('print and check the configuration')
    .description(DESCRIPTION)
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ npx plant-store config --env-file /etc/plant-store/plant-store.env',
    )
    .action(async (_options: unknown, command: Command) => {
      const { checkConfig } = await import('../config/environment.js');
      const { settings: variables, problems } = checkConfig();
      print(command, asTable(variables), { variables, problems });
      const config = await readStoreConfig(command);
      if (config.tlsCertFile === undefined) return;
      const { readKeyPair } = await import('../http/key-pair.js');
      readKeyPair(config);
    });
}

function asTable(settings: readonly Setting[]): string {
  const rows = settings.map(({ name, value, from }) => [name, shown(value), from]);
  return alignColumns([['VARIABLE', 'VALUE', 'FROM'], ...rows]);
}

function shown(value: string | undefined): string {
  return value === undefined ? '(invalid)' : value || '-';
}
