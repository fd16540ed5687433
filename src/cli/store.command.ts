import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readJobConfig, readStoreConfig } from './arguments.js';
import type { Digests } from './backup-tables.js';
import { printResult, writeOutput } from './terminal.js';

// The modules of each action load TypeORM, which takes longer than all the rest.
export function addStoreCommands(program: Command): void {
  program
    .command('migrate')
    .description('create the store, or bring its schema up to date, as a start of the service does')
    .action(migrate);
  program
    .command('check')
    .description('read all of the store, and look for damage; exit with 1 if there is some')
    .action(check);
  program
    .command('export')
    .description('write all plants, as of one moment, as NDJSON that import takes')
    .argument('[file]', 'the file, which is replaced; - or none is the standard output')
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} export | gzip > plants.ndjson.gz`)
    .action(exportPlants);
  program
    .command('backup')
    .description('copy the store, as of one moment, into a file, which is read again and compared')
    .argument('<file>', 'the file; replaced, unless --verify is given')
    .option('--verify', 'only check FILE; exit with 1 if it is damaged')
    .addHelpText(
      'after',
      `
The file is as secret as the store: a SQLite store too, which only its owner can read.

Example:
  $ ${COMMAND} backup /var/backups/plants-$(date +%F).sqlite`,
    )
    .action(backUp);
  program
    .command('restore')
    .description('fill an empty store from a backup, in one transaction')
    .argument('<file>', 'the backup')
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} migrate && ${COMMAND} restore plants.sqlite`)
    .action(restore);
}

async function migrate(_options: unknown, command: Command): Promise<void> {
  const { migrateStore } = await import('../database/store.js');
  const ran = await migrateStore(readStoreConfig());
  const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
  await printResult(command, lines.join('\n'), { ran });
}

async function check(_options: unknown, command: Command): Promise<void> {
  const { StoreSession } = await import('../database/store-session.js');
  const { digestTables } = await import('./backup-tables.js');
  await using store = await StoreSession.open(readJobConfig());
  await store.check();
  const digests = await digestTables(store);
  const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
  await printResult(command, `${counts.join(', ')}; no damage found`, digests);
}

async function exportPlants(file = '-', _options: unknown, command: Command): Promise<void> {
  const { StoreSession } = await import('../database/store-session.js');
  const { COLUMNS } = await import('../plants/plant.entity.js');
  const { countLines } = await import('./backup-tables.js');
  const { makeFile } = await import('./new-file.js');
  const config = readJobConfig();
  await using store = await StoreSession.open(config);
  const columns = COLUMNS.filter(({ isAudit }) => !isAudit);
  const key = { name: 'id', type: 'bigint' } as const;
  const table = { name: 'plants', key };
  const rows = store.readLines({ table, columns, form: 'object' });
  const plants = { count: 0 };
  const lines = countLines(rows, plants);
  if (file === '-') {
    for await (const chunk of lines) await writeOutput(chunk);
    return;
  }
  await makeFile(file, config, (path) => writeFile(path, lines));
  await printResult(command, `plants: ${plants.count}`, { plants });
}

async function backUp(file: string, { verify }: { verify?: true }, command: Command) {
  if (file === '-') command.error('error: a backup is a file, not the standard output');
  const { makeBackup, verifyBackup } = await import('./backup.js');
  if (verify) await printDigests(command, await verifyBackup(file), 'no damage found');
  else await printDigests(command, await makeBackup(readJobConfig(), file));
}

async function restore(file: string, _options: unknown, command: Command): Promise<void> {
  const { restoreBackup } = await import('./backup.js');
  await printDigests(command, await restoreBackup(readJobConfig(), file));
}

async function printDigests(command: Command, digests: Digests, ...verdict: readonly string[]) {
  const { formatDigests } = await import('./backup-tables.js');
  const lines = Array.from(formatDigests(digests), ([name, text]) => `${name}: ${text}`);
  await printResult(command, [...lines, ...verdict].join('\n'), digests);
}
