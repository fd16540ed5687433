import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LOG_SUFFIXES, STORE_SUFFIXES } from '../database/sqlite/files.js';
import { onEndingSignal } from './terminal.js';

/**
 * Makes a file whole or not at all: writes it beside its place, syncs and renames it; replaces an existing file.
 * After a failure, or if the process ends first, nothing is left, except after SIGKILL.
 *
 * @param write is given the path of an empty file to write to, which only its owner can read
 * @throws Error if the place has something other than a file, or a store that is in use or was not closed
 */
export async function makeFile<Result>(
  file: string,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const path = resolvePlace(file);
  // A later error would name the unfinished file.
  accessSync(dirname(path), constants.W_OK);
  const unfinished = `${path}.${process.pid}.partial`;
  let descriptor: number | undefined;
  const remove = (): void => {
    if (descriptor !== undefined && isSameFile(descriptor, unfinished)) removeStore(unfinished);
  };
  process.once('exit', remove);
  using _listening = onEndingSignal((signal) => {
    remove();
    process.kill(process.pid, signal);
  });
  try {
    // A killed process may have left one: in containers all have the same process id.
    removeStore(unfinished);
    descriptor = openSync(unfinished, 'wx', 0o600);
    const result = await write(unfinished);
    fsyncSync(descriptor);
    if (!isSameFile(descriptor, unfinished)) throw new Error(`${file}: another process makes it`);
    // A service may have been started on the file that is replaced.
    resolvePlace(file);
    renameSync(unfinished, path);
    await using folder = await open(dirname(path));
    // Makes the new name durable.
    await folder.sync();
    return result;
  } finally {
    remove();
    if (descriptor !== undefined) closeSync(descriptor);
    process.off('exit', remove);
  }
}

/** Whether a path or a descriptor, and another path, lead to the same existing file. */
export function isSameFile(one: string | number, other: string): boolean {
  const options = { bigint: true, throwIfNoEntry: false } as const;
  const first = typeof one === 'number' ? fstatSync(one, options) : statSync(one, options);
  const second = statSync(other, options);
  return first !== undefined && first.ino === second?.ino && first.dev === second.dev;
}

/** The path to replace: for a link, the file that it leads to. */
function resolvePlace(file: string): string {
  const place = resolve(file);
  const found = statSync(place, { throwIfNoEntry: false });
  if (found?.isFile() === false)
    throw new Error(`${file || place} is not a file that could be replaced`);
  const path = found ? realpathSync(place) : place;
  const log = LOG_SUFFIXES.map((suffix) => path + suffix).find(existsSync);
  if (log === undefined) return path;
  throw new Error(
    `${file} is not replaced: there is ${log}, of a store that is in use or was not closed`,
  );
}

function removeStore(path: string): void {
  for (const suffix of STORE_SUFFIXES) rmSync(path + suffix, { force: true });
}
