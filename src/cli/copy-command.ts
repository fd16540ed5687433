import { Option, type Command } from 'commander';
import type { CopyConfig } from '../copy/copy-config.js';

const DESCRIPTION =
  'Copy every plant and every token from one store to another, SQLite or PostgreSQL. Only what the ' +
  'other lacks is written, so an interrupted copy is run again and goes on. A token that is revoked ' +
  'becomes so in the other too. Nothing is changed at the source, whose service may run meanwhile. ' +
  'Where the other holds another plant under an id, nothing is copied.';

const NOTES = `
In the end both stores are read again, and the plants and tokens that were to be
copied are counted and digested on both sides. Where the two differ, as they do
when the source was written meanwhile, the exit code is 1: run it again.

A variable keeps an address and its password out of ps, and PGPASSWORD the
password out of the address.

Example:
  $ export COPY_TO=postgres://plants:secret@db.example/plants
  $ plant-store copy --from sqlite:./data/plant-store.sqlite`;

/** `copy`: for moving from one engine, or one server, to another. */
export function addCopyCommand(program: Command): void {
  program
    .command('copy')
    .summary('copy all plants and tokens to another store')
    .description(DESCRIPTION)
    .addOption(storeOption('--from <url>', 'the store to read', 'COPY_FROM'))
    .addOption(storeOption('--to <url>', 'the store to write; made if need be', 'COPY_TO'))
    .addHelpText('after', NOTES)
    .action(async ({ from, to }: { from: string; to: string }, command: Command) => {
      const config = await configOf(from, to, command);
      const { runCopy } = await import('../copy/run-copy.js');
      await runCopy(config);
    });
}

function storeOption(flags: string, description: string, variable: string): Option {
  const text = `${description}: an address as in DATABASE_URL`;
  return new Option(flags, text).env(variable).makeOptionMandatory();
}

/** Not by parsers of the options' own, whose messages would show the address. */
async function configOf(from: string, to: string, command: Command): Promise<CopyConfig> {
  const { readCopyConfig } = await import('../copy/copy-config.js');
  const { ConfigError } = await import('../config/read-secret.js');
  try {
    return readCopyConfig(from, to);
  } catch (error) {
    if (error instanceof ConfigError) command.error(`error: ${error.message}`);
    throw error;
  }
}
