/** How many of the conflicts are named. */
const NAMED = 5;

/** The copy cannot be made, or went wrong; the message is one line, for the operator. */
export class CopyError extends Error {}

/** What the target holds otherwise than the source: how much of it, and the first few by name. */
export class Conflicts {
  private count = 0;
  private readonly first: string[] = [];

  add(name: string): void {
    this.count += 1;
    if (this.first.length < NAMED) this.first.push(name);
  }

  /** @throws CopyError where there are any; it names the first few behind `what` they are */
  demandNone(what: string, outcome: string): void {
    if (this.count === 0) return;
    const more = this.count > this.first.length ? ', …' : '';
    throw new CopyError(`${what}: ${this.count} (${this.first.join(', ')}${more}); ${outcome}`);
  }
}
