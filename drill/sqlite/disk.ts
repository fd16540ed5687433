import { closeSync, copyFileSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { Random } from '../random.js';
import { FILES, restartsLog, type File, type Operation } from './recording.js';

/** Units of writes in bytes: the kernel's, and the disk's, which is atomic. */
const [PAGE, SECTOR] = [4_096, 512];
/** Operations after a restart of the log that are cut densely. */
const AFTER_RESTART = 12;

/** A change that a disk may have or not: (part of) a page of a write, a new size, or an unlink. */
export interface Change {
  readonly file: File;
  readonly offset: number;
  /** Undefined if the file is truncated to the offset. */
  readonly data?: Buffer;
  /** The file is unlinked; later changes are of another file. */
  readonly isUnlink?: boolean;
  readonly end: bigint;
}

/**
 * A file on a disk whose power may be cut: its synced content as a file, and a list of the changes in
 * the kernel's cache. It follows the recorded operations.
 */
export class DiskFile {
  /** The oldest first. */
  unsynced: Change[] = [];
  /** Unsynced when a sync failed: the kernel takes them for written, and never writes them. */
  private forsaken: Change[] = [];
  private readonly fd: number;

  constructor(private readonly path: string) {
    this.fd = openSync(path, 'r+');
  }

  /** @param operation one of this file */
  apply(operation: Operation): void {
    const { kind, file, offset, end, outcome } = operation;
    if (kind === 'sync') this.sync(operation);
    else if (outcome === 'failed') return;
    else if (kind === 'write') this.dirty(operation);
    else this.unsynced.push({ file, offset, isUnlink: kind === 'unlink', end });
  }

  /** Copies the file with these changes on the disk at a cut. */
  copyTo(path: string, changes: readonly Change[]): void {
    copyFileSync(this.path, path);
    const fd = openSync(path, 'r+');
    for (const change of changes) write(fd, change);
    closeSync(fd);
  }

  close(): void {
    closeSync(this.fd);
  }

  /** Adds a write page by page. A page makes its changes from a failed sync dirty again. */
  private dirty({ file, offset, data, end }: Operation): void {
    for (let from = 0; from < data.length;) {
      const at = offset + from;
      const page = Math.floor(at / PAGE);
      const isOfPage = (change: Change) => Math.floor(change.offset / PAGE) === page;
      const again = this.forsaken.filter(isOfPage);
      this.forsaken = this.forsaken.filter((change) => !isOfPage(change));
      const part = data.subarray(from, (page + 1) * PAGE - offset);
      this.unsynced.push(...again, { file, offset: at, data: part, end });
      from += part.length;
    }
  }

  /** Writes before the start of a sync are on the disk at its end; after a failed sync, never. */
  private sync({ start, outcome }: Operation): void {
    if (outcome === 'unknown') return;
    const covered = this.unsynced.filter(({ end }) => end <= start);
    this.unsynced = this.unsynced.filter(({ end }) => end > start);
    if (outcome === 'failed') this.forsaken.push(...covered);
    else for (const change of covered) write(this.fd, change);
  }
}

function write(fd: number, { offset, data }: Change): void {
  if (data) writeSync(fd, data, 0, data.length, offset);
  else ftruncateSync(fd, offset);
}

/** Chooses the unsynced changes, the oldest first, that had reached the disk at the cut. */
type Choice = (unsynced: readonly Change[], random: Random) => readonly Change[];

export const KINDS = {
  'nothing unsynced kept': () => [],
  'all of it kept': (unsynced) => unsynced,
  'some of it kept': (unsynced, random) => unsynced.filter(() => random.once(2)),
  reordered: (unsynced, random) => {
    const later = 1 + random.below(unsynced.length - 1);
    const missing = random.below(later);
    return unsynced.filter((_, i) => i >= later || (i !== missing && random.once(2)));
  },
  'torn at 512 bytes': (unsynced, random) =>
    unsynced.flatMap(sectorsOf).filter(() => random.once(2)),
  'the database first': (unsynced) => unsynced.filter(({ file }) => file === 'database'),
  'the log first': (unsynced) => unsynced.filter(({ file }) => file === 'log'),
} satisfies Record<string, Choice>;

export type Kind = keyof typeof KINDS;

/** The kinds of cut that differ for these changes. */
export function kindsFor(unsynced: readonly Change[]): Kind[] {
  const few: Kind[] = ['nothing unsynced kept'];
  if (unsynced.length > 0) few.push('all of it kept', 'some of it kept', 'torn at 512 bytes');
  if (unsynced.length > 1) few.push('reordered');
  const isBoth = new Set(unsynced.map(({ file }) => file)).size === 2;
  return isBoth ? [...few, 'the database first', 'the log first'] : few;
}

/** The changes on the disk after a cut of a kind. */
export function choose(kind: Kind, unsynced: readonly Change[], random: Random): Change[] {
  const choice: Choice = KINDS[kind];
  const kept = choice(unsynced, random);
  // Until an unlink is on the disk, the name belongs to the old file.
  const unlink = unsynced.find((change) => change.isUnlink && !kept.includes(change));
  return kept.filter(({ file, end }) => !(unlink?.file === file && end > unlink.end));
}

function sectorsOf(change: Change): Change[] {
  const { offset, data } = change;
  if (!data) return [change];
  const sectors: Change[] = [];
  for (let from = 0; from < data.length;) {
    const to = from + SECTOR - ((offset + from) % SECTOR);
    sectors.push({ ...change, offset: offset + from, data: data.subarray(from, to) });
    from = to;
  }
  return sectors;
}

/**
 * Chooses the operations before which the power is cut: equally many at syncs, while neither file is
 * synced, in checkpoints, after starts and restarts or unlinks of the log, and anywhere.
 *
 * @param from the first operation that may be one of them
 */
export function pointsIn(
  operations: readonly Operation[],
  count: number,
  random: Random,
  from: number,
): number[] {
  const all = operations.map((_, i) => i).slice(from);
  const near = (wanted: (operation: Operation) => boolean, after = 0): number[] =>
    all.filter((i) => operations.slice(Math.max(0, i - after), i + 1).some(wanted));
  const places = [
    near(({ kind }) => kind === 'sync', 1),
    whereNeitherIsSynced(operations).filter((i) => i >= from),
    near(({ file }) => file === 'database'),
    near((each) => each.isFirst || each.kind === 'unlink' || restartsLog(each), AFTER_RESTART),
    all,
  ];
  const points = places.flatMap((place) => random.sample(place, Math.ceil(count / places.length)));
  return [...new Set(points)].sort((a, b) => a - b);
}

function whereNeitherIsSynced(operations: readonly Operation[]): number[] {
  const dirty = new Set<File>();
  return operations.flatMap(({ kind, file }, i) => {
    const isNeither = dirty.size === FILES.length;
    if (kind === 'sync') dirty.delete(file);
    else dirty.add(file);
    return isNeither ? [i] : [];
  });
}
