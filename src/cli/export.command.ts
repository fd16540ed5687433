import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { makeFile } from './new-file.js';
import { readJobConfig } from './store-config.js';
import { printResult, writeOutput } from './terminal.js';

/** `export`: writes the plants for any program that reads NDJSON. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('write all plants as NDJSON')
    .description(
      'Write every plant of the store as NDJSON in the form that import takes, ordered by id, as of one ' +
        'moment; the service may run. A file is written beside its place and renamed once it is whole.',
    )
    .argument('[file]', 'the file, which is replaced; - or none is the standard output')
    .addHelpText(
      'after',
      `
Examples:
  $ ${COMMAND} export plants.ndjson
  $ ${COMMAND} export | gzip > plants.ndjson.gz`,
    )
    .action(async (file: string | undefined = '-') => {
      const config = readJobConfig(program);
      const { Snapshot } = await import('../database/snapshot.js');
      const { COLUMNS } = await import('../plants/plant.entity.js');
      const { countLines } = await import('./backup-tables.js');
      await using store = await Snapshot.open(config);
      const columns = COLUMNS.filter(({ isAudit }) => !isAudit).map(({ name }) => name);
      const plants = { count: 0 };
      const rows = store.readLines({ table: 'plants', columns, form: 'object' });
      const lines = countLines('exporting', rows, plants);
      if (file === '-') {
        for await (const chunk of lines) await writeOutput(chunk);
      } else {
        await makeFile(file, config, (path) => writeFile(path, lines));
        await printResult(program, `plants: ${plants.count}`, { plants });
      }
    });
}
