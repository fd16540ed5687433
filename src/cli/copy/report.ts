import { createHash } from 'node:crypto';

/** How many of the conflicts are named. */
const MAX_NAMED = 5;

/** The copy cannot be made, or went wrong; the message is one line, for the operator. */
export class CopyError extends Error {}

/** What the target holds with other content than the source: how much of it, and the first few by name. */
export class Conflicts {
  private count = 0;
  private readonly first: string[] = [];

  add(name: string): void {
    this.count += 1;
    if (this.count <= MAX_NAMED) this.first.push(name);
  }

  /** @throws CopyError where there are any; it names the first few behind `what` they are */
  assertNone(what: string, outcome: string): void {
    if (this.count === 0) return;
    const more = this.count > MAX_NAMED ? ', …' : '';
    throw new CopyError(`${what}: ${this.count} (${this.first.join(', ')}${more}); ${outcome}`);
  }
}

/** A count of rows, and the SHA-256 of all of them: each a JSON array on a line of its own. */
export class Digest {
  count = 0;
  private readonly hash = createHash('sha256');

  add(rows: readonly (readonly unknown[])[]): void {
    this.count += rows.length;
    this.hash.update(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  /** Nothing can be added any more. */
  end(): string {
    return `${this.count}, sha256 ${this.hash.digest('hex')}`;
  }
}

/** What both sides hold of one kind, as it was read after the copy. */
export interface Check {
  readonly source: Digest;
  /** Of the target's rows that the source has too. */
  readonly target: Digest;
  /** Rows of the target that the source does not have. */
  readonly more: number;
  /** Rows of both that have a different creator or time in the target. */
  readonly differentOrigin?: number;
}

/**
 * What both sides hold in the end, one line each, and whether that is the same.
 *
 * @param kind what was counted and digested, such as plants
 */
export function reportOf(kind: string, { source, target, more, differentOrigin = 0 }: Check) {
  const [here, there] = [source.end(), target.end()];
  const origin = differentOrigin > 0 ? `, ${differentOrigin} with a different creator or time` : '';
  const others = more > 0 ? `, plus ${more} more` : '';
  return {
    lines: [`${kind} in the source: ${here}`, `${kind} in the target: ${there}${origin}${others}`],
    isSame: here === there,
  };
}
