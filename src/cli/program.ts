// The commands of the operator, and the exit codes that they have in common.
import { Command, CommanderError } from 'commander';
import { COMMAND, VERSION } from '../config/config.js';
import { loadEnvironment } from '../config/environment.js';
import { toExitCode, toOperatorMessage } from '../errors/operator-message.js';
import { writeOutput, type GlobalOptions } from './terminal.js';

type Start = () => Promise<unknown>;
/** Loads the file of a command, and resolves to the function that adds it to a program. */
type Load = () => Promise<(program: Command, start: Start) => unknown>;

/** Each command is loaded only if it is named. */
const COMMANDS = new Map<string, Load>([
  ['serve', () => Promise.resolve(addServeCommand)],
  ['token', async () => (await import('./token.command.js')).addTokenCommands],
  ['migrate', async () => (await import('./store.command.js')).addMigrateCommand],
  ['status', async () => (await import('./status.command.js')).addStatusCommand],
  ['check', async () => (await import('./store.command.js')).addCheckCommand],
  ['config', async () => (await import('./config.command.js')).addConfigCommand],
  ['import', async () => (await import('./import.command.js')).addImportCommand],
  ['export', async () => (await import('./store.command.js')).addExportCommand],
  ['backup', async () => (await import('./store.command.js')).addBackupCommand],
  ['restore', async () => (await import('./store.command.js')).addRestoreCommand],
]);

const USAGE_EXIT_CODE = 2;
/** That of a program that SIGPIPE ends, as head or less end the one before them. */
const BROKEN_PIPE_EXIT_CODE = 141;

const HELP = `
Exit codes:
  0   success
  1   failed, or damage found (see stderr); token verify: not active
  2   bad usage: nothing was done
  74  output that could not be written, or a failed sync
  78  invalid configuration: nothing was done
  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM; import sums up first
  141 the reader of the output has left

Commands work on the store that DATABASE_URL names, and say on stderr which that
is; import is a client of a running service. Only migrate and the service create
a store. Results go to stdout, errors to stderr in one line.

Example:
  $ ${COMMAND} token create nursery --expires 90d`;

/** Runs the command that this process's arguments name. @param start loads main.ts, which starts the service */
export async function main(start: Start): Promise<void> {
  // Otherwise a reader that left, such as head, would cause an uncaught exception.
  process.stdout.on('error', fail);
  // The command still does its work if nobody reads stderr.
  process.stderr.on('error', () => undefined);
  await run(process.argv.slice(2), start);
}

/** Runs the command that the arguments name, by default the service, and sets `process.exitCode`. */
export async function run(line: readonly string[], start: Start): Promise<void> {
  const args = nameCommand(line);
  let help = '';
  try {
    const program = createProgram((text) => (help += text));
    const { operands } = program.parseOptions(args);
    const named = COMMANDS.get(operands[0] ?? '');
    // The help and a mistyped name need all.
    for (const load of named ? [named] : COMMANDS.values()) (await load())(program, start);
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) fail(error);
    else if (error.exitCode !== 0) process.exitCode = USAGE_EXIT_CODE;
    else await writeOutput(help).catch(fail);
  }
}

/** As commander takes them: with `serve` where no command is named, and with `--help` for `help`. */
function nameCommand(line: readonly string[]): string[] {
  const [first = '', ...rest] = line;
  // commander's help takes one name: `help token rotate` would be `help token`.
  if (first === 'help') return [...rest, '--help'];
  const length = first === '--env-file' ? 2 : Number(first.startsWith('--env-file='));
  // With a default command, commander would take a mistyped name for an argument of it.
  return line.length === length ? [...line, 'serve'] : [...line];
}

function createProgram(writeOut: (text: string) => void): Command {
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
        write(text.replace(/=.*'/, "=…'").replace(/:\/\/[^\s']*@/, '://…@')),
    });
  return program.hook('preSubcommand', (_program, command) => {
    const warnings = loadEnvironment(program.opts<GlobalOptions>().envFile);
    // The service writes them to its log.
    if (command.name() !== 'serve')
      for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  });
}

function addServeCommand(program: Command, start: Start): void {
  program
    .command('serve')
    .summary('start the service (the default)')
    .description(
      'Start the service in the foreground. SIGTERM or SIGINT stops it, once every request in progress has its response.',
    )
    .addHelpText('after', `\nExample:\n  $ PORT=8080 ${COMMAND} serve`)
    .configureHelp({
      showGlobalOptions: true,
      // The others are of no use here.
      visibleGlobalOptions: () => program.options.filter(({ long }) => long === '--env-file'),
    })
    .action(() => start().then(() => undefined));
}

function fail(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') {
    process.exitCode = BROKEN_PIPE_EXIT_CODE;
    return;
  }
  process.stderr.write(`${toOperatorMessage(error).replace(/^/gm, 'error: ')}\n`);
  process.exitCode = toExitCode(error);
}
