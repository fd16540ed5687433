// The commands of the operator, and the exit codes that they have in common.
import { Command, CommanderError } from 'commander';
import { COMMAND, VERSION } from '../config/config.js';
import { ConfigError, inspectConfig, loadEnvironment } from '../config/environment.js';
import { toExitCode, toOperatorMessage } from '../errors/operator-message.js';
import { readKeyPair } from '../lifecycle/tls.js';
import { addBackupCommands } from './backup.command.js';
import { addCheckCommand } from './check.command.js';
import { addExportCommand } from './export.command.js';
import { addImportCommand } from './import.command.js';
import { addMigrateCommand } from './migrate.command.js';
import { addStatusCommand } from './status.command.js';
import { alignColumns, printResult, warn, writeOutput } from './terminal.js';
import { addTokenCommands } from './token.command.js';

/** Loads main.ts, which starts the service. */
type Start = () => Promise<unknown>;

const HELP = `
Exit codes:
  0   success
  1   failed, or damage found (see stderr); token verify: not active
  2   bad usage: nothing was done
  74  output that could not be written, or a failed sync
  78  invalid configuration: nothing was done

Commands work on the store that DATABASE_URL names, and say on a terminal which
that is; import is a client of a running service. Only migrate and the service
create a store. Results go to stdout, errors to stderr in one line.

Example:
  $ ${COMMAND} token create nursery --expires 90d`;

/** Runs the command that the arguments name, by default the service, and sets `process.exitCode`. */
export async function run(args: readonly string[], start: Start): Promise<void> {
  // Otherwise a reader that left, such as head, would cause an uncaught exception.
  process.stdout.on('error', fail);
  // The command still does its work if nobody reads stderr.
  process.stderr.on('error', () => undefined);
  let help = '';
  try {
    const program = createProgram(start, (text) => (help += text));
    const { operands, unknown } = program.parseOptions([...args]);
    // With a default command, commander would take a mistyped name for an argument of it.
    const isNamed = operands.length + unknown.length > 0;
    await program.parseAsync(isNamed ? args : [...args, 'serve'], { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(error);
    else if (error.exitCode !== 0) process.exitCode = 2;
    else await writeOutput(help).catch(fail);
  }
}

// Each command loads its work when it runs: TypeORM takes longer than all the rest.
function createProgram(start: Start, writeOut: (text: string) => void): Command {
  const program = new Command(COMMAND)
    .description('Commands for the operator of a plant store')
    .version(VERSION, '--version', 'print the version')
    .option('--env-file <file>', 'read variables from a file instead of .env')
    .option('--json', 'print JSON')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', HELP)
    .showHelpAfterError('(add --help for additional information)')
    .exitOverride()
    .configureOutput({
      writeOut,
      // commander would repeat an unknown option with its value, `--form=postgres://…`, and an invalid URL.
      outputError: (text, write) =>
        write(text.replace(/^([^=]*=)[^]*'/, "$1…'").replace(/:\/\/[^\s']*@/, '://…@')),
    });
  program.hook('preSubcommand', (_program, command) => {
    const warnings = loadEnvironment(program.opts<{ envFile?: string }>().envFile);
    // The service writes them to its log.
    if (command.name() !== 'serve') warnings.forEach(warn);
  });
  program
    .command('serve')
    .description('start the service in the foreground (the default)')
    .action(async () => {
      await start();
    });
  program
    .command('config')
    .description('check the configuration: print every variable, its value and its source')
    .action(() => printConfig(program));
  addTokenCommands(program);
  addStatusCommand(program);
  addMigrateCommand(program);
  addCheckCommand(program);
  addExportCommand(program);
  addBackupCommands(program);
  addImportCommand(program);
  return program;
}

async function printConfig(command: Command): Promise<void> {
  const { config, settings: variables, problems, warnings } = inspectConfig();
  const rows = variables.map(({ name, value = '(invalid)', from }) => [name, value || '-', from]);
  const text = alignColumns([['VARIABLE', 'VALUE', 'SOURCE'], ...rows]);
  await printResult(command, text, { variables, problems, warnings });
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  readKeyPair(config);
}

function fail(error: unknown): void {
  const hasReaderLeft = (error as NodeJS.ErrnoException).code === 'EPIPE';
  if (!hasReaderLeft)
    process.stderr.write(`${toOperatorMessage(error).replace(/^/gm, 'error: ')}\n`);
  // A program that SIGPIPE ends has this code.
  process.exitCode = hasReaderLeft ? 141 : toExitCode(error);
}
