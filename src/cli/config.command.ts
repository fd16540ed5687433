import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { ConfigError, describeProcess, inspectConfig } from '../config/environment.js';
import { readKeyPair } from '../config/key-pair.js';
import { alignColumns, printResult } from './terminal.js';

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .summary('print and check the configuration')
    .description(
      "Print every variable of the service's configuration, its value and its source: the environment, " +
        'the file .env or --env-file, the file that NAME_FILE names, or the default. Secrets are masked. ' +
        'Problems, and lines of the file that are ignored, are on stderr. If invalid, it exits with 78.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} config --env-file service.env`)
    .action(async () => {
      const { config, settings: variables, problems, warnings } = inspectConfig();
      const rows = [['VARIABLE', 'VALUE', 'SOURCE']];
      for (const { name, value = '(invalid)', from } of variables)
        rows.push([name, value || '-', from]);
      await printResult(program, alignColumns(rows), { variables, problems, warnings });
      if (problems.length > 0) throw new ConfigError(problems.join('\n'));
      readKeyPair(config);
      process.stderr.write(`${describeProcess(config)}\n`);
    });
}
