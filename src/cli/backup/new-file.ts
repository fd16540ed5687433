import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { onEndingSignal } from '../session.js';

/** What SQLite may have beside a file. */
const BESIDE = ['', '-wal', '-shm', '-journal'];

/**
 * Makes a file whole or not at all: it is written beside its place, put on stable storage and renamed; a file that
 * is there already is replaced. Where that fails, or a signal ends the process, nothing is left.
 *
 * @param write is given the path to write to, where no file is yet
 * @throws Error where something other than a file is there, or a store that is in use
 */
export async function makeFile(
  file: string,
  write: (unfinished: string) => Promise<void>,
): Promise<void> {
  const path = placeOf(file);
  // Else what fails would name the unfinished file.
  accessSync(dirname(path), constants.W_OK);
  const unfinished = `${path}.${process.pid}.partial`;
  const remove = (): void => BESIDE.forEach((end) => rmSync(unfinished + end, { force: true }));
  const unlisten = onEndingSignal((signal) => {
    remove();
    process.kill(process.pid, signal);
  });
  try {
    // A process that was killed may have left one, and in a container all have one number.
    remove();
    await write(unfinished);
    sync(unfinished);
    renameSync(unfinished, path);
    sync(dirname(path));
  } finally {
    remove();
    unlisten();
  }
}

/** A link stays one: the file that it leads to is replaced. */
function placeOf(file: string): string {
  if (!existsSync(file)) return resolve(file);
  if (!statSync(file).isFile()) throw new Error(`${file} is not a file that could be replaced`);
  const path = realpathSync(file);
  if (existsSync(`${path}-wal`)) throw new Error(`${file} is a store in use: it is not replaced`);
  return path;
}

/** A folder, too: it is synced for the name of a file in it. */
function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
