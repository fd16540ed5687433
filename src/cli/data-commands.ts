import type { Command } from 'commander';
import { jsonOption } from './session.js';

const EXPORT =
  'Write every plant of the store as NDJSON in the form that import takes, ordered by id, as of one ' +
  'moment; the service may run. A file is written beside its place and renamed once it is whole.';

const EXPORT_NOTES = `
Examples:
  $ npx plant-store export plants.ndjson
  $ npx plant-store export | gzip > plants.ndjson.gz`;

const BACKUP =
  'Make a file of all that the store holds at one moment, from SQLite or PostgreSQL, while the ' +
  "service runs: plants and who created them, tokens' hashes. It is read again, compared, and put in " +
  'its place once it is whole. Counts and digests of its content are in it, by which --verify and ' +
  'restore notice damage. It is a SQLite store: the service can run on a copy of it.';

const BACKUP_NOTES = `
It is as secret as the store, and only its owner can read it.

Examples:
  $ npx plant-store backup /var/backups/plants-$(date +%F).sqlite
  $ npx plant-store backup --verify /var/backups/plants-2026-11-22.sqlite`;

const RESTORE =
  'Fill the store, SQLite or PostgreSQL, with what a backup holds. The store must be there and ' +
  'empty, but for what an interrupted restore of the same backup has left: that is continued. All of ' +
  'the backup is read and compared with its digests before, and all of the store at the end.';

const RESTORE_NOTES = `
A file that is no backup, or is damaged, or of a newer version is refused, and so
is a store with other plants or tokens; nothing is written then.

Example, with the new store in DATABASE_URL:
  $ npx plant-store migrate && npx plant-store restore plants-2026-11-22.sqlite`;

/** `export`: the plants, for every program that reads NDJSON. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('write all plants as NDJSON')
    .description(EXPORT)
    .argument('[file]', 'the file; - or none is the standard output')
    .option('--audit', 'add created_by, and created_at in milliseconds since 1970, where known')
    .addOption(jsonOption())
    .addHelpText('after', EXPORT_NOTES)
    .action(
      async (
        file: string | undefined,
        { audit = false }: { audit?: boolean },
        command: Command,
      ) => {
        const { runExport } = await import('./backup/export.js');
        await runExport(command, file, audit);
      },
    );
}

/** `backup`: all of the store, as a store of its own. */
export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .summary('back up the store into a file')
    .description(BACKUP)
    .argument('<file>', 'the file; replaced, but with --verify')
    .option('--verify', 'make nothing: read a backup, and exit with 1 where it is damaged')
    .addOption(jsonOption())
    .addHelpText('after', BACKUP_NOTES)
    .action(async (file: string, { verify }: { verify?: true }, command: Command) => {
      if (file === '-') command.error('error: a backup is a file, not the standard output');
      const { runBackup, runVerify } = await import('./backup/backup.js');
      await (verify ? runVerify : runBackup)(command, file);
    });
}

/** `restore`: for the loss of a store, and for moving from one engine, or one server, to another. */
export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .summary('fill an empty store from a backup')
    .description(RESTORE)
    .argument('<file>', 'the backup')
    .addOption(jsonOption())
    .addHelpText('after', RESTORE_NOTES)
    .action(async (file: string, _options: unknown, command: Command) => {
      const { runRestore } = await import('./backup/backup.js');
      await runRestore(command, file);
    });
}
