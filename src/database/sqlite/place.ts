/**
 * Where the files of a store are. SQLite goes on with the files that it has opened, whatever becomes of their names, and a
 * start finds a log by the name of its file.
 *
 * 1. A file has one name: a hard link, or a mount of the file alone, would have a log and a lock of its own.
 * 2. Each name leads to the file that was opened. Behind a rename or a removal, a commit would be in a file that the next
 *    start does not find. With another log, or another index of it, processes would not see each other's commits.
 * 3. What has lost its name is put back: put-back.ts.
 *
 * The thread loads this file too: it imports nothing but types and what Node.js has.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { Finding } from '../store-errors.js';

export type OpenedFile = Readonly<{ path: string; dev: bigint; ino: bigint }>;

/** Suffixes of the files of a store; `-shm` is the index of the write-ahead log. files.ts has what they are for. */
export const STORE_SUFFIXES = ['', '-wal', '-journal', '-shm', '-lock', '-id'];

/** What the thread has open. */
export interface OpenStore {
  /** No link. */
  readonly file: string;
  readonly opened: readonly OpenedFile[];
  /** The descriptors of the file, and of its log once that is open. */
  readonly descriptor: number;
  log?: number;
}

export function identifyFile(path: string): OpenedFile {
  const { dev, ino } = statSync(path, { bigint: true });
  return { path, dev, ino };
}

/** Whether a name still leads to the file that was opened. @throws Error if it cannot be told, as the folder cannot be entered */
export function isInPlace({ path, dev, ino }: OpenedFile): boolean {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found?.ino === ino && found.dev === dev;
}

/** Finds what keeps a store from being written where it is. @param describeMoved that of put-back.ts */
export function findMisplaced(
  store: OpenStore,
  describeMoved: (moved: OpenedFile, store: OpenStore) => Finding,
): Finding | undefined {
  const alias = findAlias(store.file);
  if (alias) return alias;
  try {
    const moved = store.opened.find((file) => !isInPlace(file));
    return moved && describeMoved(moved, store);
  } catch (error) {
    return unsafe((error as Error).message, "let the service's user reach it again");
  }
}

/** Finds the second name of a file, or of one of those beside it. @param file no link */
export function findAlias(file: string): Finding | undefined {
  const mount = describeMount(STORE_SUFFIXES.map((suffix) => file + suffix));
  if (mount) return mount;
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.nlink ?? 1) === 1) return undefined;
  } catch {
    // What cannot be reached is told of where it is looked for.
    return undefined;
  }
  return unsafe(`${file} is a hard link`, 'remove its other names, or give it a copy of its own');
}

/** Says which of these paths is a mount, and what to do; undefined if none is, or without /proc, as on macOS. */
export function describeMount(paths: readonly string[]): Finding | undefined {
  const list = '/proc/self/mountinfo';
  if (!existsSync(list)) return undefined;
  const mounts = readFileSync(list, 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4]);
  const mount = paths.find((path) => mounts.includes(path.replace(/[ \t\n\\]/g, escapeOctal)));
  return mount === undefined
    ? undefined
    : unsafe(`${mount} is itself a mount`, 'mount its folder, with all files of the store');
}

/** As in proc_pid_mountinfo(5). */
function escapeOctal(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

function unsafe(what: string, remedy: string): Finding {
  return { effect: 'unsafe', what, remedy };
}
