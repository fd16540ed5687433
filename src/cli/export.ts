import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { COLUMNS } from '../plants/plant.entity.js';
import { JSON_OPTION } from './arguments.js';
import { makeFile } from './new-file.js';
import { assertNotStore, readJobConfig, withSnapshot } from './store.js';
import { countLines } from './tables.js';
import { printResult, showCount } from './terminal.js';

const PLANT_COLUMNS = Object.values(COLUMNS);

/** `export`: writes the plants for any program that reads NDJSON. */
export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('write all plants as NDJSON')
    .description(
      'Write every plant of the store as NDJSON in the form that import takes, ordered by id, as of one ' +
        'moment; the service may run. A file is written beside its place and renamed once it is whole.',
    )
    .argument('[file]', 'the file; - or none is the standard output')
    .option('--audit', 'add created_by, and created_at in milliseconds since 1970, if known')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
Examples:
  $ npx plant-store export plants.ndjson
  $ npx plant-store export | gzip > plants.ndjson.gz`,
    )
    .action(async (file: string | undefined, { audit }: { audit?: true }, command: Command) => {
      const config = readJobConfig(command);
      const path = file === '-' ? undefined : file;
      if (path !== undefined) assertNotStore(path, config);
      const columns = PLANT_COLUMNS.filter(({ isAudit }) => audit || !isAudit);
      const names = columns.map(({ name }) => name);
      await withSnapshot(config, async (store) => {
        const lines = store.readLines({ table: 'plants', columns: names, form: 'object' });
        const plants = { count: 0 };
        const progress = showCount('exporting', plants);
        try {
          await writeChunks(countingLines(lines, plants), path);
        } finally {
          progress.end();
        }
        if (path !== undefined) printResult(command, `plants: ${plants.count}`, { plants });
      });
    });
}

async function* countingLines(chunks: AsyncIterable<Buffer>, done: { count: number }) {
  for await (const chunk of chunks) {
    yield chunk;
    done.count += countLines(chunk);
  }
}

/** Writes to a file, whole or not at all, or to stdout. */
async function writeChunks(chunks: AsyncIterable<Buffer>, file?: string): Promise<void> {
  if (file !== undefined) {
    // The file exists: a stream that opens it late must not create it again after a failure.
    const flags = 'r+';
    await makeFile(file, (path) => pipeline(chunks, createWriteStream(path, { flags })));
    return;
  }
  let stdoutError: unknown;
  process.stdout.once('error', (error) => (stdoutError = error));
  try {
    await pipeline(chunks, process.stdout, { end: false });
  } catch (error) {
    // main() reports an error of stdout, such as a reader that left.
    if (error !== stdoutError) throw error;
  }
}
