/**
 * Where the files of a store are. SQLite goes on with the files that it has opened, whatever becomes of their names, and a
 * start finds a log by the name of its file.
 *
 * 1. A file has one name: a hard link, or a mount of the file alone, would have a log and a lock of its own.
 * 2. Each name leads to the file that was opened. Behind a rename or a removal, a commit would be in a file that the next
 *    start does not find. With another log, or another index of it, processes would not see each other's commits.
 * 3. A file that has lost its name stays open in the process until that ends. On Linux, /proc tells where it was moved to,
 *    and can be copied from if it was removed: the remedy has these commands, which keep what was acknowledged.
 * 4. A copy has the bytes, but is another file: only a start opens it, with its log.
 * 5. What a remedy moves aside gets a name that is free: nothing is overwritten, and nothing is removed.
 *
 * The thread loads this file too: it imports nothing but types and what Node.js has.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  globSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Finding } from './inspection.js';

export type OpenedFile = Readonly<{ path: string; dev: bigint; ino: bigint }>;

/** Suffixes of the files of a store; `-shm` is the index of the write-ahead log. files.ts has what they are for. */
export const STORE_SUFFIXES = ['', '-wal', '-journal', '-shm', '-lock', '-id'];

const CHUNK_BYTES = 2 ** 20;
/** How /proc marks a file that has no name any more. */
const DELETED = ' (deleted)';

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

/** Finds what keeps a store from being written where it is. */
export function findMisplaced(store: OpenStore): Finding | undefined {
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

/** A descriptor of a removed file in any process that this user may look into, as a path to copy from. */
export function findRemoved(path: string): string | undefined {
  return globSync('/proc/[0-9]*/fd/*').find((link) => readLink(link) === path + DELETED);
}

/** The shell command that moves a file aside, to a name that is free. */
export function moveAside(path: string, suffix: string): string {
  let aside = `${path}.${suffix}`;
  for (let number = 2; existsSync(aside); number++) aside = `${path}.${suffix}-${number}`;
  return `mv ${quote(path)} ${quote(aside)}`;
}

/** Quotes an argument of a shell's command. */
export function quote(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`;
}

function describeMoved({ path }: OpenedFile, store: OpenStore): Finding {
  const { file, descriptor } = store;
  const replaced = `${path} was removed or replaced while the service runs`;
  if (path.startsWith(`${file}-`)) return unsafe(replaced, 'put it back, or restart the service');
  if (path !== file) return unsafe(replaced, `let it lead to ${quote(file)} again`);
  const exists = existsSync(file);
  const keepNew = exists
    ? `; to keep the file that is there now, stop the service, then \`${moveAside(`${file}-wal`, 'old')}\``
    : '';
  const link = readLink(`/proc/self/fd/${descriptor}`);
  if (link === undefined)
    return unsafe(replaced, `put it back: it is open in this process alone${keepNew}`);
  const aside = exists ? [moveAside(file, 'new')] : [];
  if (!link.endsWith(DELETED)) {
    const moved = existsSync(dirname(file)) ? [link, file] : [dirname(link), dirname(file)];
    const back = [...aside, `mv ${moved.map(quote).join(' ')}`].join(' && ');
    return unsafe(`${replaced}: it is ${link}`, `put it back by \`${back}\`${keepNew}`);
  }
  const copies = listCopies(store);
  if (copies.length === 0)
    return unsafe(
      `${file} was put back by a copy while the service runs`,
      'restart the service, which opens the copy',
    );
  return unsafe(
    `${replaced}: its rows are in this process alone`,
    `before it stops, put them back by \`${copies.join(' && ')}\`, then restart the service${keepNew}`,
  );
}

/** The commands that copy back what was removed; none if that is done. */
function listCopies({ file, opened, descriptor, log }: OpenStore): string[] {
  const wal = `${file}-wal`;
  const isLogThere = opened.some((one) => one.path === wal && isInPlace(one));
  const removed: [path: string, from: number][] = [[file, descriptor]];
  if (log !== undefined && !isLogThere) removed.push([wal, log]);
  const copies = removed
    .filter(([path, from]) => !isCopy(path, from))
    .flatMap(([path, from]) => [
      ...(existsSync(path) ? [moveAside(path, 'new')] : []),
      `cp -p /proc/${process.pid}/fd/${from} ${quote(path)}`,
    ]);
  return existsSync(dirname(file)) ? copies : [`mkdir -m 700 ${quote(dirname(file))}`, ...copies];
}

/** Whether a file has the same bytes as an open one: a copy from before would lack what a checkpoint has written since. */
function isCopy(path: string, original: number): boolean {
  if (!existsSync(path)) return false;
  const copy = openSync(path, 'r');
  try {
    const { size } = fstatSync(original);
    if (fstatSync(copy).size !== size) return false;
    const chunks = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)] as const;
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      const [one, other] = [original, copy].map((from, i) =>
        chunks[i]?.subarray(0, readSync(from, chunks[i], 0, CHUNK_BYTES, at)),
      );
      if (!one || !other?.equals(one)) return false;
    }
    return true;
  } finally {
    closeSync(copy);
  }
}

/** Where a link leads; undefined if it is none, or gone, or without /proc. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function unsafe(what: string, remedy: string): Finding {
  return { effect: 'unsafe', what, remedy };
}
