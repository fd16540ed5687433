/**
 * Where the files of a store are. SQLite goes on with the files that it has opened, whatever becomes of their names, and a
 * start finds a log (the file `-wal`, which has the latest commits) by the name of its file.
 *
 * 1. A file has one name: a hard link, or a mount of the file alone, would have a log and a lock of its own.
 * 2. Each name is that of the file that was opened. After a rename or a removal, a commit would be in a file that the next start
 *    does not find, or whose log it does not find, if a link has the name: it looks beside the file. With another log, or
 *    another index of it, processes would not see each other's commits.
 *
 * put-back.ts says how to put a file back. The writer's thread loads this file: its imports are as writer.worker.ts says.
 */
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { unsafe, type Finding } from '../finding.ts';

/** `mayBeLink`: the path is as configured. */
export type OpenedFile = Readonly<{ path: string; dev: bigint; ino: bigint; mayBeLink?: true }>;

/** Suffixes of the files of a store. `-shm` is the index of the log; files.ts and log-owner.ts tell of the last two. */
export const STORE_SUFFIXES = ['', '-wal', '-journal', '-shm', '-lock', '-id'];

export function identifyFile(path: string): OpenedFile {
  const { dev, ino } = lstatSync(path, { bigint: true });
  return { path, dev, ino };
}

/** Whether the file that was opened still has its name. @throws Error if this user cannot enter the folder */
export function isInPlace({ path, dev, ino, mayBeLink }: OpenedFile): boolean {
  const find = mayBeLink ? statSync : lstatSync;
  const found = find(path, { bigint: true, throwIfNoEntry: false });
  return found?.ino === ino && found.dev === dev;
}

/** Finds the second name of a file, or of one of those beside it. @param file the path of the file itself, not of a link */
export function findAlias(file: string): Finding | undefined {
  const mount = describeMount(STORE_SUFFIXES.map((suffix) => file + suffix));
  if (mount) return mount;
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.nlink ?? 1) === 1) return undefined;
  } catch {
    // Whoever opens the file reports that it cannot be reached.
    return undefined;
  }
  const path = quote(file);
  return unsafe(
    `${file} is a hard link`,
    `remove each other name that \`find / -samefile ${path} ! -path ${quote(escapePattern(file))} 2>/dev/null\` lists, but no second path to its folder, as through a mount`,
  );
}

/** Says which of these paths is a mount, and what to do; undefined if none is, or without /proc, as on macOS. */
export function describeMount(paths: readonly string[]): Finding | undefined {
  const mount = findMount(paths);
  if (mount === undefined) return undefined;
  return unsafe(`${mount} is itself a mount`, 'mount its folder, with all files of the store');
}

/** Returns the first of these paths that is a mount. */
export function findMount(paths: readonly string[]): string | undefined {
  const list = '/proc/self/mountinfo';
  if (!existsSync(list)) return undefined;
  const lines = readFileSync(list, 'utf8').split('\n');
  const mounts = lines.map((line) => line.split(' ')[4]);
  return paths.find((path) => mounts.includes(path.replace(/[ \t\n\\]/g, escapeOctal)));
}

/** Escapes a character as /proc/self/mountinfo does (proc_pid_mountinfo(5)). */
function escapeOctal(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

/** Escapes a path where a command takes a pattern. */
function escapePattern(path: string): string {
  return path.replace(/[*?[\\]/g, String.raw`\$&`);
}

/** Quotes an argument of a shell's command. */
export function quote(path: string): string {
  return `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
