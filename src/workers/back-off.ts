/** Milliseconds that a process lives at least whose end is no sign that the next one ends too. */
const LONG = 60_000;
/** The first wait that is one, and the longest, in milliseconds. */
const FIRST = 100;
const LONGEST = 30_000;

/** How long to wait before a process that ended is started anew: longer while they end soon. */
export class BackOff {
  private following = 0;

  /**
   * @param lived milliseconds from the start of the process to its end
   * @returns milliseconds: none, then 100, and twice as many each time, to 30 s
   */
  next(lived: number): number {
    const wait = lived >= LONG ? 0 : this.following;
    this.following = Math.min(Math.max(FIRST, 2 * wait), LONGEST);
    return wait;
  }
}
