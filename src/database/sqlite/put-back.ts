/**
 * How an operator puts a store back that has lost its name while a process has it open.
 *
 * 1. A file that was moved is moved back. On Linux, /proc tells where it is. It still has its own name if something was
 *    mounted over its folder.
 * 2. A file that was removed exists until the process ends, which may be the only one to have its plants: it can be copied
 *    from /proc. Its log (the file `-wal`, which has the latest commits) is copied as well if it was removed too, and before
 *    the file: if the operator stops between the two, a start refuses a log without a file, but not a file without a log.
 * 3. The service says this of its own files. A command that finds no file looks for a process that has it open. It prefers one
 *    that has the log too: another, such as a tool that makes copies, lacks what is in the log.
 * 4. A copy has the same bytes, but is another file: the service cannot go on with it, and must be restarted.
 * 5. What a remedy moves aside gets a name that is free: no command overwrites or removes anything.
 *
 * The writer's thread loads this file: its imports are as writer.worker.ts says.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  globSync,
  openSync,
  readlinkSync,
  readSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { unsafe, type Finding } from '../finding.ts';
import { findMount, isInPlace, quote, type OpenedFile } from './place.ts';

const CHUNK_BYTES = 2 ** 20;
/** How /proc marks a file that has no name any more. */
const DELETED = ' (deleted)';

/** What a process has open of a store. */
export interface OpenStore {
  /** The path of the file itself, not of a link to it. */
  readonly file: string;
  /** The descriptors of the file, and of its log once that is open. */
  readonly descriptor: number;
  log?: number;
}

/** Says how to put back what has lost its name. */
export function describeMoved({ path, ino }: OpenedFile, store: OpenStore): Finding {
  const { file, descriptor } = store;
  const replaced = `${path} was removed or replaced while the service runs`;
  if (path.startsWith(`${file}-`)) return unsafe(replaced, 'put it back, or restart the service');
  if (path !== file) return unsafe(replaced, `let it lead to ${quote(file)} again`);
  // A link to the file itself is no other file.
  const exists = existsSync(file) && statSync(file, { bigint: true }).ino !== ino;
  const keepNew = exists
    ? `; to keep the file that is there now, stop the service, then \`${moveAside(`${file}-wal`, 'old')}\``
    : '';
  // A file that was replaced before there was a writer is not open here.
  const isOpen = fstatSync(descriptor, { bigint: true }).ino === ino;
  const link = isOpen ? readLink(`/proc/self/fd/${descriptor}`) : undefined;
  if (link === undefined) return unsafe(replaced, `put it back${keepNew}`);
  if (link === file)
    return unsafe(
      `${file} is hidden while the service runs: something is mounted over its folder`,
      `unmount it by \`umount ${quote(findMount(listFolders(file)) ?? dirname(file))}\``,
    );
  const aside = exists ? [moveAside(file, 'new')] : [];
  if (!link.endsWith(DELETED)) {
    const moved = existsSync(dirname(file)) ? [link, file] : [dirname(link), dirname(file)];
    const back = [...aside, `mv ${moved.map(quote).join(' ')}`].join(' && ');
    return unsafe(`${replaced}: it is ${link}`, `put it back by \`${back}\`${keepNew}`);
  }
  const copies = copyBack(file, nameOwn(file, descriptor), nameOwn(`${file}-wal`, store.log));
  if (copies === '')
    return unsafe(
      `${file} was put back by a copy while the service runs`,
      'restart the service, which opens the copy',
    );
  return unsafe(
    `${replaced}: its rows are in this process alone`,
    `before it stops, put them back by \`${copies}\`, then restart the service${keepNew}`,
  );
}

/** Lists the folders that a file is in, the innermost first. */
function listFolders(file: string): string[] {
  const folder = dirname(file);
  return folder === file ? [] : [folder, ...listFolders(folder)];
}

/** Returns the command that copies back a removed file, and its log; '' if this user sees no process that has it open. */
export function listRemoved(file: string): string {
  const wal = `${file}-wal`;
  const links = globSync('/proc/[0-9]*/fd/*').map((path) => ({ path, link: readLink(path) }));
  const logs = links.filter(({ link }) => link === wal || link === wal + DELETED);
  const found = links
    .filter(({ link }) => link === file + DELETED)
    .map(({ path }) => ({
      file: path,
      log: logs.find((log) => dirname(log.path) === dirname(path))?.path,
    }));
  const best = found.find(({ log }) => log !== undefined) ?? found[0];
  return best ? copyBack(file, best.file, best.log) : '';
}

/** Returns the path below /proc of what this process has open, unless that was copied back already. */
function nameOwn(path: string, descriptor: number | undefined): string | undefined {
  if (descriptor === undefined || isCopy(path, descriptor)) return undefined;
  return `/proc/${process.pid}/fd/${descriptor}`;
}

/** Returns the command that copies back what is not in its place; '' if everything is. @param from, fromLog paths below /proc */
function copyBack(file: string, from?: string, fromLog?: string): string {
  const copy = (path: string, open: string | undefined) => {
    if (open === undefined || isSame(path, open)) return [];
    return [...(existsSync(path) ? [moveAside(path, 'new')] : []), `cp -p ${open} ${quote(path)}`];
  };
  const folder = dirname(file);
  return [
    ...(existsSync(folder) ? [] : [`mkdir -m 700 ${quote(folder)}`]),
    ...copy(`${file}-wal`, fromLog),
    ...copy(file, from),
  ].join(' && ');
}

/** Whether two paths lead to one file. */
function isSame(path: string, other: string): boolean {
  const found = statSync(other, { bigint: true, throwIfNoEntry: false });
  return found !== undefined && isInPlace({ path, dev: found.dev, ino: found.ino });
}

/** The latest comparison of each path: each inspection asks for one, and a large file takes long to read. */
const compared = new Map<string, { readonly state: string; readonly isCopy: boolean }>();

/** Whether a file has the same bytes as an open one: an earlier copy lacks what a checkpoint has written since. */
function isCopy(path: string, original: number): boolean {
  if (!existsSync(path)) return false;
  // The file itself is not opened: closing it would drop the locks that SQLite has on it.
  if (isSame(path, `/proc/self/fd/${original}`)) return true;
  const copy = openSync(path, 'r');
  try {
    const stats = [original, copy].map((from) => fstatSync(from, { bigint: true }));
    const state = stats.map(({ dev, ino, mtimeNs, size }) => [dev, ino, mtimeNs, size]).join();
    const last = compared.get(path);
    if (last?.state === state) return last.isCopy;
    const isCopied = hasSameBytes(original, copy);
    compared.set(path, { state, isCopy: isCopied });
    return isCopied;
  } finally {
    closeSync(copy);
  }
}

function hasSameBytes(original: number, copy: number): boolean {
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
}

/** Returns the shell command that moves a file aside, to a name that is free. */
export function moveAside(path: string, suffix: string): string {
  return `mv ${quote(path)} ${quote(findFreeName(path, suffix))}`;
}

export function findFreeName(path: string, suffix: string): string {
  let name = `${path}.${suffix}`;
  for (let number = 2; existsSync(name); number++) name = `${path}.${suffix}-${number}`;
  return name;
}

/** Returns where a link leads; undefined if the path is no link, or is gone, or the system has no /proc. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
