import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { Snapshot } from '../../database/snapshot.js';
import { progressOf } from '../progress.js';
import { print } from '../session.js';
import { makeFile } from './new-file.js';
import { assertNotStore, storeConfig } from './stores.js';
import { countLines, type Chunks } from './tables.js';

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
  const done = { count: 0 };
  const progress = progressOf('exporting', done);
  try {
    const plants = counted(plantLines(snapshot, withAudit), done);
    if (!isFile) {
      await toStdout(plants);
      return;
    }
    await makeFile(file, (path) => pipeline(plants, createWriteStream(path, { flags: 'wx' })));
    print(command, `plants: ${done.count}`, { plants: done });
  } finally {
    progress.end();
    await snapshot.close();
  }
}

function plantLines(snapshot: Snapshot, withAudit: boolean): Chunks {
  const members = [
    `'{"id":' || id || ',"name":' || ${snapshot.json('name')}`,
    `COALESCE(',"tag":' || ${snapshot.json('tag')}, '')`,
  ];
  if (withAudit) {
    members.push(
      `COALESCE(',"created_by":' || ${snapshot.json('created_by')}, '')`,
      `COALESCE(',"created_at":' || created_at, '')`,
    );
  }
  return snapshot.lines({ table: 'plants', line: `${members.join(' || ')} || '}'` });
}

async function* counted(chunks: Chunks, done: { count: number }): Chunks {
  for await (const chunk of chunks) {
    yield chunk;
    done.count += countLines(chunk);
  }
}

/** A reader that leaves, such as head, ends it: stdout itself reports that. */
async function toStdout(plants: Chunks): Promise<void> {
  try {
    await pipeline(plants, process.stdout, { end: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
  }
}
