import { createHash } from 'node:crypto';

/** A count of rows, and the SHA-256 of all of them: each a JSON array on a line of its own. */
export class Digest {
  count = 0;
  private readonly hash = createHash('sha256');

  add(rows: readonly (readonly unknown[])[]): void {
    this.count += rows.length;
    this.hash.update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  /** The digest, in 64 hexadecimal digits; nothing can be added any more. */
  end(): string {
    return this.hash.digest('hex');
  }
}

/** What both sides hold of one kind, as it was read after the copy. */
export interface Check {
  readonly source: Digest;
  /** Of the target's rows that the source has too. */
  readonly target: Digest;
  /** Rows of the target that the source has not. */
  readonly further: number;
  /** Rows of both that the target says to be created by someone else, or at another time. */
  readonly otherwise?: number;
}
