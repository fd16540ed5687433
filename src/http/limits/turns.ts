// A create, step 1 of 13: which connection may begin a request in this turn of the event loop.
/**
 * Milliseconds for which requests are begun in a turn of the event loop, at least and at most; the others wait for the
 * next. Between the two it is as long as reading and handshakes took. libuv accepts one connection in a turn, so a turn
 * is short.
 */
const MIN_TURN_MS = 1;
const MAX_TURN_MS = 50;

interface Taker {
  /** Called once in a turn. */
  takeTurn(): void;
}

/** Shares out the event loop among those that have more to do than one turn allows: first come, first served. */
export class Turns {
  private waiting: Taker[] = [];
  /** When the turn is over, by performance.now(), in milliseconds. */
  private end = 0;
  /** When the latest turn was over. */
  private over = 0;

  /** Has takeTurn() called in one of the next turns. */
  await(taker: Taker): void {
    if (this.waiting.push(taker) > 1) return;
    setImmediate(this.give);
    this.end = performance.now() + MIN_TURN_MS;
  }

  /** Whether what was begun in this turn has taken long enough. */
  get isOver(): boolean {
    return this.waiting.length > 0 && performance.now() > this.end;
  }

  private readonly give = (): void => {
    const { waiting } = this;
    this.waiting = [];
    const now = performance.now();
    const end = now + Math.max(MIN_TURN_MS, Math.min(now - this.over, MAX_TURN_MS));
    let next: Taker | undefined;
    while (performance.now() < end && (next = waiting.shift())) next.takeTurn();
    this.over = performance.now();
    if (waiting.length === 0) return;
    if (this.waiting.length === 0) setImmediate(this.give);
    this.waiting = waiting.concat(this.waiting);
  };
}
