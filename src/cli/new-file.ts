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
import { dirname, resolve } from 'node:path';
import { onEndingSignal } from './session.js';

/** What SQLite may have beside a file. */
const BESIDE = ['', '-wal', '-shm', '-journal'];

/** Those of which SQLite would play back into the file beside them, whatever file that is by then. */
const LOGS = ['-wal', '-journal'];

/**
 * Makes a file whole or not at all: it is written beside its place, put on stable storage and renamed; a file that
 * is there already is replaced. Where that fails, or the process ends meanwhile, nothing is left, but after SIGKILL.
 *
 * @param write is given the path of an empty file to write to, which only its owner can read
 * @throws Error where something other than a file is there, or a store that is in use or was not closed
 */
export async function makeFile<Result>(
  file: string,
  write: (unfinished: string) => Promise<Result>,
): Promise<Result> {
  const path = placeOf(file);
  // Else what fails would name the unfinished file.
  accessSync(dirname(path), constants.W_OK);
  const unfinished = `${path}.${process.pid}.partial`;
  let descriptor: number | undefined;
  const remove = (): void => {
    if (descriptor !== undefined && isSameFile(descriptor, unfinished)) removeStore(unfinished);
  };
  process.once('exit', remove);
  const unlisten = onEndingSignal((signal) => {
    remove();
    process.kill(process.pid, signal);
  });
  try {
    // A process that was killed may have left one, and in containers all have one number.
    removeStore(unfinished);
    descriptor = openSync(unfinished, 'wx', 0o600);
    const result = await write(unfinished);
    fsyncSync(descriptor);
    if (!isSameFile(descriptor, unfinished)) throw new Error(`${file}: another process makes it`);
    // Meanwhile a service may have been started on what is replaced.
    placeOf(file);
    renameSync(unfinished, path);
    sync(dirname(path));
    return result;
  } finally {
    remove();
    if (descriptor !== undefined) closeSync(descriptor);
    unlisten();
    process.off('exit', remove);
  }
}

/** Whether a path, or an open file, and another path are one file, by whatever name; not where one is not there. */
export function isSameFile(one: string | number, other: string): boolean {
  const found = statSync(other, { bigint: true, throwIfNoEntry: false });
  const { ino, dev } =
    (typeof one === 'number'
      ? fstatSync(one, { bigint: true })
      : statSync(one, { bigint: true, throwIfNoEntry: false })) ?? {};
  return found !== undefined && found.ino === ino && found.dev === dev;
}

/** A link stays one: the file that it leads to is replaced. */
function placeOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() === false) throw new Error(`${file} is not a file that could be replaced`);
  const path = found ? realpathSync(file) : resolve(file);
  const log = LOGS.map((end) => path + end).find(existsSync);
  if (log === undefined) return path;
  throw new Error(
    `${file} is not replaced: there is ${log}, of a store that is in use or was not closed`,
  );
}

function removeStore(path: string): void {
  for (const end of BESIDE) rmSync(path + end, { force: true });
}

/** A folder, for the name of a file in it. */
function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
