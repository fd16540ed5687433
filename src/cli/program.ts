import { Command, CommanderError } from 'commander';
import { addCopyCommand } from './copy-command.js';
import { addImportCommand } from './import-command.js';
import { addMigrateCommand } from './migrate-command.js';
import { addTokenCommands } from './token-commands.js';
import { readSecretFiles } from './secret-files.js';

const FAILED = 1;
const BAD_USAGE = 2;

const HELP = `
Exit codes:
  0  all is done
  1  the work failed, or the service refused some of the plants
  2  bad usage: nothing was done

token and migrate work on the store that DATABASE_URL names; import is a client
of a running service; copy goes from one store to another. Results go to stdout,
errors to stderr in one line.

Example:
  $ plant-store token create nursery --expires 90d`;

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
addCopyCommand(program);
program.hook('preSubcommand', readSecretFiles);

// A reader that left, such as head, is no reason for a stack.
process.stdout.on('error', fail);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) fail(error);
  else if (error.exitCode !== 0) process.exitCode = BAD_USAGE;
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${message}\n`);
  process.exitCode = FAILED;
}
