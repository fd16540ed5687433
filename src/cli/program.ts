import { Command, CommanderError } from 'commander';
import { VERSION } from '../config/config.js';
import { loadEnvironment, readSecret } from '../config/environment.js';
import { toExitCode, toOperatorMessage } from '../errors/describe.js';
import { asUsageError } from './arguments.js';
import { addConfigCommand } from './config-command.js';
import { addBackupCommand, addExportCommand, addRestoreCommand } from './data-commands.js';
import { addImportCommand } from './import-command.js';
import type { GlobalOptions } from './session.js';
import { addCheckCommand, addMigrateCommand } from './store-commands.js';
import { addTokenCommands } from './token-commands.js';

const BAD_USAGE = 2;

/** docs/operating.md has the same table. */
const HELP = `
Exit codes:
  0   success
  1   failed, or damaged: the reason is on stderr; of token verify, not active
  2   bad usage: nothing was done
  74  a failed sync of the store's files
  78  invalid configuration: nothing was done
  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM; import sums up first

Commands work on the store that DATABASE_URL names, and say on stderr which that
is; import is a client of a running service. Only migrate and the service create
a store. Results go to stdout, errors to stderr in one line.

Example:
  $ npx plant-store token create nursery --expires 90d`;

/** Runs the command of this process's arguments. */
export async function main(): Promise<void> {
  // A reader that left, such as head, is no reason for a stack.
  process.stdout.on('error', fail);
  // Nor one of stderr: what it does is still to be done.
  process.stderr.on('error', () => undefined);
  await run(process.argv.slice(2));
}

/** Runs the command of some arguments; what came of it is in `process.exitCode`. */
export async function run(args: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(error);
    else if (error.exitCode !== 0) process.exitCode = BAD_USAGE;
  }
}

function createProgram(): Command {
  const program = new Command('plant-store')
    .description("The plant store's operator's commands")
    .version(VERSION, '--version', 'print the version')
    .option('--env-file <file>', 'read variables from a file instead of .env')
    .option('--quiet', 'do not say which store is used')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      // An unknown option would be repeated with its value: `--form=postgres://…`.
      outputError: (text, write) =>
        write(`${text.trim().replaceAll('\n', ' ').replace(/=.*'/, "=…'")}\n`),
    });
  addTokenCommands(program);
  addMigrateCommand(program);
  addCheckCommand(program);
  addConfigCommand(program);
  addImportCommand(program);
  addExportCommand(program);
  addBackupCommand(program);
  addRestoreCommand(program);
  return program.hook('preSubcommand', (_program, command) => {
    loadEnvironment(program.opts<GlobalOptions>().envFile);
    readSecretFiles(program, command);
  });
}

/**
 * Lets the secrets among a command's options, which are those that have a variable and no parser, be
 * given as `NAME_FILE` too, as the service's are. It runs before the command reads its options: what
 * stands on the command line then wins.
 */
function readSecretFiles(program: Command, command: Command): void {
  for (const option of command.options) {
    const { envVar, parseArg } = option;
    if (envVar === undefined || parseArg) continue;
    const secret = asUsageError(program, () => readSecret(envVar));
    // Not as from 'env': a variable that is empty would then take its place.
    if (secret) command.setOptionValueWithSource(option.attributeName(), secret, 'secret');
  }
}

function fail(error: unknown): void {
  const message = toOperatorMessage(error).replace(':\n', ': ').replaceAll('\n', '; ');
  process.stderr.write(`error: ${message}\n`);
  process.exitCode = toExitCode(error);
}
