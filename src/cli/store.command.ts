import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { describeError } from '../errors/operator-message.js';
import type { Digests } from './backup-tables.js';
import { readJobConfig, readStoreConfig } from './store-config.js';
import { printResult, writeOutput } from './terminal.js';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary("bring the store's schema up to date")
    .description(
      'Create the store if there is none, or bring its schema up to date, and list the migrations ' +
        'that were run. The service does the same when it starts, unless MIGRATE is off.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} migrate`)
    .action(async () => {
      const { migrateStore } = await import('../database/store.js');
      const ran = await migrateStore(readStoreConfig());
      const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
      await printResult(program, lines.join('\n'), { ran });
    });
}

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .summary('look for damage in the store')
    .description(
      'Read all of the store once, and tell whether it is damaged: the structure of its files, and every ' +
        "value's type and text. PostgreSQL's indexes need the extension amcheck, and the right to run it. " +
        'Nothing is written, and the service may run. The exit code is 1 if something is damaged.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} check --json`)
    .action(async () => {
      const { Transaction } = await import('../database/transaction.js');
      const { isDamage } = await import('../database/store-errors.js');
      const { digestTables, TABLE_NAMES } = await import('./backup-tables.js');
      try {
        await using store = await Transaction.open(readJobConfig());
        const indexes = await store.check(TABLE_NAMES);
        const digests = await digestTables(store);
        const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
        const unchecked = indexes ? '' : '; indexes not checked (amcheck)';
        const text = `${counts.join(', ')}; no damage found${unchecked}`;
        await printResult(program, text, { ...digests, indexes });
      } catch (cause) {
        if (!isDamage(cause)) throw cause;
        const advice =
          'the store is damaged: stop the service, and follow "A damaged store" in docs/operating.md';
        throw new Error(`${describeError(cause)}; ${advice}`, { cause });
      }
    });
}

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('write all plants as NDJSON')
    .description(
      'Write every plant of the store as NDJSON in the form that import takes, ordered by id, as of one ' +
        'moment; the service may run. A file is written beside its place and renamed once it is whole.',
    )
    .argument('[file]', 'the file, which is replaced; - or none is the standard output')
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} export | gzip > plants.ndjson.gz`)
    .action(async (file: string | undefined = '-') => {
      const config = readJobConfig();
      const { Transaction } = await import('../database/transaction.js');
      const { COLUMNS } = await import('../plants/plant.entity.js');
      const { countLines } = await import('./backup-tables.js');
      await using store = await Transaction.open(config);
      const columns = COLUMNS.filter(({ isAudit }) => !isAudit);
      const rows = store.readLines({ table: 'plants', columns, form: 'object' });
      const plants = { count: 0 };
      const lines = countLines('exporting', rows, plants);
      if (file === '-') {
        for await (const chunk of lines) await writeOutput(chunk);
      } else {
        const { makeFile } = await import('./new-file.js');
        await makeFile(file, config, (path) => writeFile(path, lines));
        await printResult(program, `plants: ${plants.count}`, { plants });
      }
    });
}

export function addBackupCommand(program: Command): void {
  program
    .command('backup')
    .summary('back up the store into a file')
    .description(
      'Make a file of all that the store, SQLite or PostgreSQL, holds at one moment, while the service ' +
        "runs: plants and who created them, tokens' hashes. The file is read again, compared, and put in " +
        'its place once it is whole. By counts and digests in it --verify and restore notice a changed ' +
        'value; they ignore unused space. It is a SQLite store: the service can run on a copy of it.',
    )
    .argument('<file>', 'the file; replaced, unless --verify is given')
    .option('--verify', 'only check FILE; exit with 1 if it is damaged')
    .addHelpText(
      'after',
      `
It is as secret as the store, and only its owner can read it.

Examples:
  $ ${COMMAND} backup /var/backups/plants-$(date +%F).sqlite
  $ ${COMMAND} backup --verify /var/backups/plants-2026-11-22.sqlite`,
    )
    .action(async (file: string, { verify }: { verify?: true }, command: Command) => {
      if (file === '-') command.error('error: a backup is a file, not the standard output');
      const { makeBackup, verifyBackup } = await import('./backup.js');
      if (verify) await printDigests(program, await verifyBackup(file), 'no damage found');
      else await printDigests(program, await makeBackup(readJobConfig(), file));
    });
}

export function addRestoreCommand(program: Command): void {
  program
    .command('restore')
    .summary('fill an empty store from a backup')
    .description(
      'Fill the store, SQLite or PostgreSQL, with what a backup holds, in one transaction. The store ' +
        'must exist and be empty, and stays so if the restore fails or is interrupted. A backup that is ' +
        'damaged or of a newer version is refused. All of the store is read and compared at the end.',
    )
    .argument('<file>', 'the backup')
    .addHelpText(
      'after',
      `\nExample, with the new store in DATABASE_URL:\n  $ ${COMMAND} migrate && ${COMMAND} restore plants.sqlite`,
    )
    .action(async (file: string) => {
      const { restoreBackup } = await import('./backup.js');
      await printDigests(program, await restoreBackup(readJobConfig(), file));
    });
}

async function printDigests(
  program: Command,
  digests: Digests,
  ...verdict: readonly string[]
): Promise<void> {
  const { formatDigests } = await import('./backup-tables.js');
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  await printResult(program, [...lines, ...verdict].join('\n'), digests);
}
