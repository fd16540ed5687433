import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Cell } from '../../database/engine.js';
import { Snapshot } from '../../database/snapshot.js';
import { COLUMNS } from '../../plants/plant.entity.js';
import { makeFile } from '../new-file.js';
import { progressOf } from '../progress.js';
import { print } from '../session.js';
import { assertNotStore, storeConfig } from './stores.js';
import { countLines, type Chunks } from './tables.js';

/** The members of a plant. `--audit` adds the last ones, who created it and when. */
const COLUMN_LIST = Object.values(COLUMNS);
const CELLS: readonly Cell[] = COLUMN_LIST.map(({ name, type }, i) => ({
  column: name,
  before: `${i === 0 ? '{' : ','}"${name}":`,
  isString: type === 'text',
  ifNull: '',
}));
const CONTENT_CELLS = CELLS.filter((_cell, i) => !COLUMN_LIST[i]?.isAudit);

/**
 * Writes every plant of the store to a file, or to stdout where it is undefined or `-`: NDJSON as `import` takes
 * it, in the order of the ids.
 *
 * @param withAudit adds who created each plant, and when, in milliseconds since 1970, where that is known
 * @throws StoreUnusableError; the error of the store or of the file, which is then left as it was
 */
export async function runExport(
  command: Command,
  file: string | undefined,
  withAudit: boolean,
): Promise<void> {
  const config = await storeConfig(command);
  const isFile = file !== undefined && file !== '-';
  if (isFile) assertNotStore(file, config);
  const snapshot = await Snapshot.open(config);
  const cells = withAudit ? CELLS : CONTENT_CELLS;
  const done = { count: 0 };
  const progress = progressOf('exporting', done);
  try {
    const plants = counted(snapshot.lines({ table: 'plants', cells, end: '}' }), done);
    if (!isFile) {
      await toStdout(plants);
      return;
    }
    // The file is there: a stream that opens it late must not make it again after a failure.
    const flags = 'r+';
    await makeFile(file, (path) => pipeline(plants, createWriteStream(path, { flags })));
    print(command, `plants: ${done.count}`, { plants: done });
  } finally {
    progress.end();
    await snapshot.close();
  }
}

async function* counted(chunks: Chunks, done: { count: number }): Chunks {
  for await (const chunk of chunks) {
    yield chunk;
    done.count += countLines(chunk);
  }
}

/** What fails at stdout, as where a reader such as head leaves, stdout itself reports. */
async function toStdout(plants: Chunks): Promise<void> {
  let ofStdout: unknown;
  process.stdout.once('error', (error) => (ofStdout = error));
  try {
    await pipeline(plants, process.stdout, { end: false });
  } catch (error) {
    if (error !== ofStdout) throw error;
  }
}
