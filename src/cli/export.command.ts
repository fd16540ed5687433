import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readJobConfig } from './arguments.js';
import { printResult, writeOutput } from './terminal.js';

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('write all plants, as of one moment, as NDJSON that import takes')
    .argument('[file]', 'the file, which is replaced; - is the standard output', '-')
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} export | gzip > plants.ndjson.gz`)
    .action(async (file: string) => {
      const { StoreSession } = await import('../database/store-session.js');
      const { toTable } = await import('../database/tables.js');
      const { AUDIT, Plant } = await import('../plants/plant.entity.js');
      const { countLines, warnOfProblems } = await import('./backup-tables.js');
      const { makeFile } = await import('./new-file.js');
      const config = readJobConfig();
      await using store = await StoreSession.open(config);
      warnOfProblems(store);
      const table = toTable(store.manager.getRepository(Plant).metadata);
      const columns = table.columns.filter(({ field }) => !AUDIT.includes(field));
      await store.assertUnique(table);
      const rows = store.readLines({ table, columns, form: 'object' });
      const plants = { count: 0 };
      const lines = countLines(rows, plants);
      if (file === '-') {
        for await (const chunk of lines) await writeOutput(chunk);
        return;
      }
      await makeFile(file, config, (path) => writeFile(path, lines));
      await printResult(program, `plants: ${plants.count}`, { plants });
    });
}
