import { mkdtempDisposableSync, realpathSync, renameSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import { loadEngine } from '../database/store.js';
import { describeError, OutputError, readCode, withFileName } from '../errors/operator-message.js';
import { findOutput } from './output-path.js';
import { onEndingSignal } from './terminal.js';

/** Matches the errors of a disk that is full or fails, in which Node.js and SQLite leave out the name of the file. */
const DISK_FAILED = /\b(ENOSPC|EFBIG|EDQUOT|EIO): [^,]+|database or disk is full/;

/**
 * Makes a file whole or not at all: writes it in a folder beside its place, syncs and renames it; replaces an existing
 * file. @param write is given the path of the file to write
 * @throws Error if the place has something other than a file, or a file of a store; OutputError if it cannot be written
 */
export async function makeFile<Result>(
  file: string,
  config: Config,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const path = await findPlace(file, config);
  // This comes before the folder is made, which a signal would leave otherwise.
  using _listening = onEndingSignal((signal) => {
    folder.remove();
    process.kill(process.pid, signal);
  });
  using folder = withFileName(file, () => mkdtempDisposableSync(`${path}.partial-`));
  const unfinished = join(folder.path, `${basename(path)}.partial`);
  try {
    const result = await write(unfinished);
    await sync(unfinished);
    // A service may have been started on the file that is replaced.
    await findPlace(file, config);
    renameSync(unfinished, path);
    // Makes the new name durable, where the file system can sync a folder, and this user may open it.
    await sync(dirname(path)).catch((error: unknown) => {
      if (!/^E(INVAL|NOTSUP|NOTTY|ACCES)$/.test(readCode(error))) throw error;
    });
    return result;
  } catch (cause) {
    const [reason] = DISK_FAILED.exec(`${describeError(cause)}; ${String(cause)}`) ?? [];
    throw reason === undefined ? cause : new OutputError(`${path}: ${reason}`, { cause });
  }
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** Finds the path to replace. A link stays, and the file that it leads to is replaced. */
async function findPlace(file: string, config: Config): Promise<string> {
  const path = withFileName(file, () => {
    const { path: target } = findOutput(file);
    return join(realpathSync(dirname(target)), basename(target));
  });
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false)
    throw new Error(`${path} is not a file`);
  // Whatever DATABASE_URL names, a file may be one of another store.
  const use = (await loadEngine('sqlite:')).describeUse?.(path, config);
  if (use) throw new Error(`${file} ${use}`);
  return path;
}
