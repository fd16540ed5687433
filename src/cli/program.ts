import { Command, CommanderError } from 'commander';
import { readSecret } from '../config/read-secret.js';
import { toOperatorMessage } from '../errors/describe.js';
import { asUsageError } from './arguments.js';
import { addBackupCommand, addExportCommand, addRestoreCommand } from './data-commands.js';
import { addImportCommand } from './import-command.js';
import { addMigrateCommand } from './store-commands.js';
import { addTokenCommands } from './token-commands.js';

const FAILED = 1;
const BAD_USAGE = 2;

const HELP = `
Exit codes:
  0  success
  1  the work failed, or the service refused some of the plants
  2  bad usage: nothing was done

import is a client of a running service; every other command works on the store
that DATABASE_URL names. Results go to stdout, errors to stderr in one line.

Example:
  $ plant-store token create nursery --expires 90d`;

/** Runs the command of this process's arguments. */
export async function main(): Promise<void> {
  // A reader that left, such as head, is no reason for a stack.
  process.stdout.on('error', fail);
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
    .addHelpText('after', HELP)
    .exitOverride()
    .configureOutput({
      // An unknown option would be repeated with its value: `--form=postgres://…`.
      outputError: (text, write) =>
        write(`${text.trim().replaceAll('\n', ' ').replace(/=.*'/, "=…'")}\n`),
    });
  addTokenCommands(program);
  addMigrateCommand(program);
  addImportCommand(program);
  addExportCommand(program);
  addBackupCommand(program);
  addRestoreCommand(program);
  return program.hook('preSubcommand', readSecretFiles);
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
  process.exitCode = FAILED;
}
