import { closeSync, copyFileSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import type { File, Operation } from './recording.js';

/** What the kernel writes as a whole, in bytes. */
const PAGE = 4_096;

/** What a disk may have got or not: (part of) a page of a write, or a new size. */
export interface Change {
  readonly file: File;
  readonly offset: number;
  /** Undefined: the file ends at the offset. */
  readonly data?: Buffer;
  /** The file's name is gone, and what comes after is another file's. */
  readonly isUnlink?: boolean;
  readonly end: bigint;
}

/**
 * A file on a disk whose power may be cut: what is on the disk for sure is in a file of its own, and
 * what only the kernel's cache has is listed. It follows the recorded operations.
 */
export class DiskFile {
  /** The oldest first. */
  unsynced: Change[] = [];
  /** Was unsynced when a sync failed: the kernel takes it for written, and writes it no more. */
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

  /** Copies the file as it is after a cut until which these changes had reached the disk. */
  copyTo(path: string, changes: readonly Change[]): void {
    copyFileSync(this.path, path);
    const fd = openSync(path, 'r+');
    for (const change of changes) write(fd, change);
    closeSync(fd);
  }

  close(): void {
    closeSync(this.fd);
  }

  /** Takes a write page by page. What a failed sync left behind in a page is dirty again with it. */
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

  /** What was written before a sync began is on the disk when it ends, or never, where it failed. */
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
