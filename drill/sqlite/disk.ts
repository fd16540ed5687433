import { closeSync, copyFileSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { FILES, restartsLog, type File, type Operation } from './recording.js';

/** Units of writes in bytes: the kernel's, and the disk's, which is atomic. */
const [PAGE, SECTOR] = [4_096, 512];
/** Operations after a restart of the log that are cut densely. */
const AFTER_RESTART = 12;
/** What follows the database's path. */
export const SUFFIX = { database: '', log: '-wal' } as const;

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
 * A disk whose power may be cut: the synced content of the two files, and a list of the changes in the kernel's
 * cache. It follows the recorded operations.
 */
export class Disk {
  /** The oldest first. */
  unsynced: Change[] = [];
  /** Unsynced when a sync failed: the kernel takes them for written, and never writes them. */
  private forsaken: Change[] = [];

  /** @param path of the synced content of the database; that of the log is beside it */
  constructor(private readonly path: string) {}

  apply(operation: Operation): void {
    const { kind, file, offset, end, outcome } = operation;
    if (kind === 'sync') this.sync(operation);
    else if (outcome === 'failed') return;
    else if (kind === 'write') this.dirty(operation);
    else this.unsynced.push({ file, offset, isUnlink: kind === 'unlink', end });
  }

  /** Copies the files with these changes on the disk at a cut. */
  copyTo(path: string, changes: readonly Change[]): void {
    for (const file of FILES) copyFileSync(this.path + SUFFIX[file], path + SUFFIX[file]);
    write(path, changes);
  }

  /** Adds a write page by page. A page makes its changes from a failed sync dirty again. */
  private dirty({ file, offset, data, end }: Operation): void {
    for (let from = 0; from < data.length;) {
      const at = offset + from;
      const page = Math.floor(at / PAGE);
      const isOfPage = (change: Change) =>
        change.file === file && Math.floor(change.offset / PAGE) === page;
      const again = this.forsaken.filter(isOfPage);
      this.forsaken = this.forsaken.filter((change) => !isOfPage(change));
      const part = data.subarray(from, (page + 1) * PAGE - offset);
      this.unsynced.push(...again, { file, offset: at, data: part, end });
      from += part.length;
    }
  }

  /** Writes before the start of a sync are on the disk at its end; after a failed sync, never. */
  private sync({ file, start, outcome }: Operation): void {
    if (outcome === 'unknown') return;
    const isCovered = (change: Change) => change.file === file && change.end <= start;
    const covered = this.unsynced.filter(isCovered);
    this.unsynced = this.unsynced.filter((change) => !isCovered(change));
    if (outcome === 'failed') this.forsaken.push(...covered);
    else write(this.path, covered);
  }
}

function write(path: string, changes: readonly Change[]): void {
  for (const name of FILES) {
    const fd = openSync(path + SUFFIX[name], 'r+');
    for (const { offset, data } of changes.filter(({ file }) => file === name)) {
      if (data) writeSync(fd, data, 0, data.length, offset);
      else ftruncateSync(fd, offset);
    }
    closeSync(fd);
  }
}

/** A random integer from 0 to below a bound. */
export function random(bound: number): number {
  return Math.floor(Math.random() * bound);
}

/** Chooses the unsynced changes, the oldest first, that had reached the disk at the cut. */
type Choice = (unsynced: readonly Change[]) => readonly Change[];

const KINDS: Readonly<Record<string, Choice>> = {
  'nothing unsynced kept': () => [],
  'all of it kept': (unsynced) => unsynced,
  'the database first': (unsynced) => unsynced.filter(({ file }) => file === 'database'),
  'the log first': (unsynced) => unsynced.filter(({ file }) => file === 'log'),
  'some of it kept': (unsynced) => unsynced.filter(() => random(2) > 0),
  reordered: (unsynced) => {
    const later = 1 + random(unsynced.length - 1);
    const missing = random(later);
    return unsynced.filter((_, i) => i >= later || (i !== missing && random(2) > 0));
  },
  'torn at 512 bytes': (unsynced) => unsynced.flatMap(sectorsOf).filter(() => random(2) > 0),
};

/** The changes on the disk after each kind of cut that differs from those before. */
export function cutsOf(unsynced: readonly Change[]): Map<string, Change[]> {
  const cuts = new Map<string, Change[]>();
  for (const [kind, choose] of Object.entries(KINDS)) {
    const kept = choose(unsynced);
    // Until an unlink is on the disk, the name belongs to the old file.
    const unlink = unsynced.find((change) => change.isUnlink && !kept.includes(change));
    const changes = kept.filter(({ file, end }) => !(unlink?.file === file && end > unlink.end));
    const isSame = (other: Change[]) =>
      other.length === changes.length && other.every((change, j) => change === changes[j]);
    if (![...cuts.values()].some(isSame)) cuts.set(kind, changes);
  }
  return cuts;
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
export function pointsIn(operations: readonly Operation[], count: number, from: number) {
  const dirty = new Set<File>();
  const places: number[][] = [];
  let [afterSync, afterRestart] = [-1, -1];
  for (const [i, operation] of operations.entries()) {
    const { kind, file, isFirst } = operation;
    if (kind === 'sync') afterSync = i + 1;
    if (isFirst || kind === 'unlink' || restartsLog(operation)) afterRestart = i + AFTER_RESTART;
    const isDirty = dirty.size === FILES.length;
    const isIn = [i <= afterSync, isDirty, file === 'database', i <= afterRestart, true];
    for (const [n, is] of isIn.entries()) if (is && i >= from) (places[n] ??= []).push(i);
    if (kind === 'sync') dirty.delete(file);
    else dirty.add(file);
  }
  const points = places.flatMap((all) => {
    const lots = all.map((i) => ({ i, lot: Math.random() })).sort((a, b) => a.lot - b.lot);
    return lots.slice(0, Math.ceil(count / places.length));
  });
  return new Set(points.map(({ i }) => i));
}
