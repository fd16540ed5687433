import { Option, type Command } from 'commander';
import { asUsageError } from './arguments.js';
import { jsonOption, print, readStoreConfig } from './session.js';

const COPY =
  'Copy every plant and every token from one store to another, SQLite or PostgreSQL. Only what the ' +
  'target lacks is written, so an interrupted copy is run again and continues. A token that was ' +
  'revoked is revoked in the target too. Nothing is changed in the source, whose service may keep ' +
  'running. Where the target has an id with different content, nothing is copied.';

const COPY_NOTES = `
At the end both stores are read again, and the plants and tokens that were to be
copied are counted and digested on both sides. Where the two differ, as they do
when the source changed meanwhile, the exit code is 1: run it again.

A variable keeps an address and its password out of ps, and PGPASSWORD the
password out of the address.

Example:
  $ export COPY_TO=postgres://plants:secret@db.example/plants
  $ plant-store copy --from sqlite:./data/plant-store.sqlite`;

/** `migrate`: for a deployment that changes the schema before it starts the service. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary("bring the store's schema up to date")
    .description(
      'Create the store where there is none, or bring its schema up to date, and list the migrations ' +
        'that were run. The service does the same when it starts; this is for doing it before.',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ DATABASE_URL=sqlite:/srv/plants.sqlite npx plant-store migrate',
    )
    .action(async (_options: unknown, command: Command) => {
      const config = await readStoreConfig(command);
      const { migrateStore } = await import('../database/open-store.js');
      const ran = await migrateStore(config);
      const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
      print(command, lines.join('\n'), { ran });
    });
}

/** `copy`: for moving from one engine, or one server, to another. */
export function addCopyCommand(program: Command): void {
  program
    .command('copy')
    .summary('copy all plants and tokens to another store')
    .description(COPY)
    .addOption(storeOption('--from <url>', 'the store to read', 'COPY_FROM'))
    .addOption(storeOption('--to <url>', 'the store to write; created if missing', 'COPY_TO'))
    .addHelpText('after', COPY_NOTES)
    .action(async ({ from, to }: { from: string; to: string }, command: Command) => {
      const { readCopyConfig } = await import('./copy/stores.js');
      const config = asUsageError(command, () => readCopyConfig(from, to));
      const { runCopy } = await import('./copy/run-copy.js');
      await runCopy(config);
    });
}

/** It has no parser, as the messages of commander's would show the address. */
function storeOption(flags: string, description: string, variable: string): Option {
  const text = `${description}: an address as in DATABASE_URL`;
  return new Option(flags, text).env(variable).makeOptionMandatory();
}
