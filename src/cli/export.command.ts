import { writeFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { readJobConfig, toArgument } from './arguments.js';
import { printResult, showProgress, writeOutput } from './terminal.js';

interface Options {
  readonly audit?: true;
  readonly by?: string;
}

const toPrincipalId = toArgument({
  rule: 'token: and a number of `token list`, or jwt: and a `sub`',
  parse: (text) => (/^(token:\d+|jwt:.+)$/s.test(text) ? text : undefined),
});

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .description('write all plants, as of one moment, as NDJSON that import takes')
    .argument('[file]', 'the file, which is replaced; - is the standard output', '-')
    .option('--audit', 'add who created each plant, and when: createdBy, createdAt')
    .addOption(
      new Option('--by <id>', 'only plants of one token, such as token:6, or jwt:SUB').argParser(
        toPrincipalId,
      ),
    )
    .addHelpText(
      'after',
      `
Examples:
  $ ${COMMAND} export | gzip > plants.ndjson.gz
  $ ${COMMAND} export --audit --by token:6`,
    )
    .action(async (file: string, { audit, by }: Options) => {
      const { StoreSession } = await import('../database/store-session.js');
      const { toTable } = await import('../database/tables.js');
      const { AUDIT, Plant } = await import('../plants/plant.entity.js');
      const { countLines, warnOfProblems } = await import('./backup-tables.js');
      const { makeFile } = await import('./new-file.js');
      const config = readJobConfig();
      await using store = await StoreSession.open(config);
      warnOfProblems(store);
      const table = toTable(store.manager.getRepository(Plant).metadata);
      const columns = table.columns.filter(({ field }) => audit ?? !AUDIT.includes(field));
      const only = by === undefined ? undefined : { column: 'created_by', text: by };
      await store.assertUnique(table);
      const rows = store.readLines({ table, columns, form: 'object', only });
      const plants = { count: 0 };
      using _progress = showProgress(() => `plants: read ${plants.count}`);
      const counted = countLines(rows, plants);
      const lines = audit ? formatTimes(counted) : counted;
      if (file === '-') {
        for await (const chunk of lines) await writeOutput(chunk);
        return;
      }
      await makeFile(file, config, (path) => writeFile(path, lines));
      await printResult(program, `plants: ${plants.count}`, { plants });
    });
}

/** Writes when plants were created as ISO 8601 in UTC. A text cannot have what this looks for, as its quotes are escaped. */
async function* formatTimes(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks)
    yield Buffer.from(
      chunk
        .toString()
        .replaceAll(/(?<=,"createdAt":)\d+/g, (ms) => JSON.stringify(new Date(Number(ms)))),
    );
}
