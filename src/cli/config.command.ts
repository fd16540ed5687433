import type { Command } from 'commander';
import { COMMAND, type Config } from '../config/config.js';
import { ConfigError, describeProcess, inspectConfig } from '../config/environment.js';
import { readKeyPair } from '../config/key-pair.js';
import { toExitCode } from '../errors/operator-message.js';
import { alignColumns, printResult } from './terminal.js';

export function addConfigCommand(program: Command): void {
  program
    .command('config')
    .summary('print and check the configuration')
    .description(
      "Print every variable of the service's configuration, its value and its source: the environment, " +
        'the file .env or --env-file, the file that NAME_FILE names, or the default. Secrets are masked. ' +
        'On stderr is a line for each problem, and for each line of the file that is ignored. ' +
        'An invalid configuration exits with 78.',
    )
    .addHelpText(
      'after',
      `\nExample:\n  $ ${COMMAND} config --env-file /etc/plant-store/plant-store.env`,
    )
    .action(async () => {
      const { config, settings: variables, warnings, ...found } = inspectConfig();
      const problems = found.problems.length > 0 ? found.problems : checkFiles(config);
      const rows = variables.map(({ name, value, from }) => [
        name,
        (value ?? '(invalid)') || '-',
        from,
      ]);
      const text = alignColumns([['VARIABLE', 'VALUE', 'SOURCE'], ...rows]);
      await printResult(program, text, { variables, problems, warnings });
      for (const problem of problems) process.stderr.write(`error: ${problem}\n`);
      if (problems.length > 0) process.exitCode = toExitCode(new ConfigError());
      else process.stderr.write(`${describeProcess(config)}\n`);
    });
}

function checkFiles(config: Config): string[] {
  try {
    readKeyPair(config);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [error.message];
    throw error;
  }
}
