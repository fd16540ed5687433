import { accessSync, constants, existsSync, fstatSync } from 'node:fs';
import { mkdtempDisposableSync, realpathSync, renameSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { findSqliteFile } from '../config/database-url.js';
import { findLog, STORE_SUFFIXES } from '../database/sqlite/files.js';
import { describeError } from '../errors/operator-message.js';
import { onEndingSignal } from './terminal.js';

/**
 * Makes a file whole or not at all: writes it in a folder of its own beside its place, syncs and renames it; replaces an
 * existing file. After a failure, or if the process ends first, nothing is left, except after SIGKILL.
 *
 * @param write is given the path of the file to write
 * @throws Error if the place has something other than a file, a file of the configuration's store, or a store that is
 *   in use or was not closed
 */
export async function makeFile<Result>(
  file: string,
  config: Config,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const path = findPlace(file, config);
  // A later error would name the unfinished file.
  accessSync(dirname(path), constants.W_OK);
  using cleanup = new DisposableStack();
  const remove = (): void => folder.remove();
  process.once('exit', remove);
  cleanup.defer(() => process.off('exit', remove));
  const end = (signal: NodeJS.Signals): void => {
    remove();
    process.kill(process.pid, signal);
  };
  cleanup.use(onEndingSignal(end));
  // Made once signals are handled: an earlier one would leave it.
  const folder = cleanup.use(mkdtempDisposableSync(`${path}.partial-`));
  const unfinished = join(folder.path, `${basename(path)}.partial`);
  const result = await write(unfinished).catch((error: unknown) => {
    throw nameFullDisk(error, path);
  });
  await sync(unfinished);
  // A service may have been started on the file that is replaced.
  findPlace(file, config);
  renameSync(unfinished, path);
  // Makes the new name durable.
  await sync(dirname(path));
  return result;
}

/** Names the file that found no space, which SQLite and Node.js leave out; other errors stay as they are. */
function nameFullDisk(cause: unknown, file: string): unknown {
  const text = describeError(cause);
  return /\bENOSPC\b|disk is full/.test(text) ? new Error(`${file}: ${text}`, { cause }) : cause;
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path);
  await handle.sync();
}

/** The path to replace: for a link, the file that it leads to. */
function findPlace(file: string, { databaseUrl }: Config): string {
  const path = existsSync(file) ? realpathSync(file) : resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new Error(`${file || path} is not a file that could be replaced`);
  }
  const store = findSqliteFile(databaseUrl);
  const storePath = store !== undefined && existsSync(store) ? realpathSync(store) : undefined;
  // A link may lead to the folder, and SQLite's log may not be there yet.
  const real = existsSync(dirname(path)) ? join(realpathSync(dirname(path)), basename(path)) : path;
  if (storePath !== undefined && STORE_SUFFIXES.some((suffix) => storePath + suffix === real)) {
    throw new Error(`${file} is a file of the store`);
  }
  const log = findLog(path);
  if (log === undefined) return path;
  throw new Error(
    `${file} is not replaced: there is ${log}, of a store that is in use or was not closed`,
  );
}

/** Whether a path or a descriptor, and another path, lead to the same existing file. */
export function isSameFile(one: string | number, other: string): boolean {
  const options = { bigint: true, throwIfNoEntry: false } as const;
  const first = typeof one === 'number' ? fstatSync(one, options) : statSync(one, options);
  const second = statSync(other, options);
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}
