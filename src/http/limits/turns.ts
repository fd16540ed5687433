/**
 * Milliseconds for which requests are begun in a turn of the event loop; the others wait for the next. Short, as libuv
 * accepts one connection in a turn.
 */
const MAX_TURN_MS = 2;

interface Taker {
  /** Called once in a turn. */
  takeTurn(): void;
}

/** Shares out the event loop among those that have more to do than one turn allows: first come, first served. */
export class Turns {
  private waiting: Taker[] = [];
  /** When the turn is over, by performance.now(), in milliseconds. */
  private end = 0;

  /** Has takeTurn() called in one of the next turns. */
  await(taker: Taker): void {
    if (this.waiting.push(taker) > 1) return;
    setImmediate(this.give);
    this.end = performance.now() + MAX_TURN_MS;
  }

  /** Whether what was begun in this turn has taken long enough. */
  get isOver(): boolean {
    return this.waiting.length > 0 && performance.now() > this.end;
  }

  private readonly give = (): void => {
    const { waiting } = this;
    this.waiting = [];
    this.end = performance.now() + MAX_TURN_MS;
    let next: Taker | undefined;
    while (!this.isOver && (next = waiting.shift())) next.takeTurn();
    if (waiting.length === 0) return;
    if (this.waiting.length === 0) setImmediate(this.give);
    this.waiting = waiting.concat(this.waiting);
  };
}
