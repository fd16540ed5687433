/** Measures an age by the clock that has run further: the monotonic one stands still while its machine is suspended. */
export class Stopwatch {
  private readonly monotonic = performance.now();
  private readonly wall = Date.now();

  /** Milliseconds since its creation. A wall clock that is set back changes nothing; one set forward only adds to it. */
  get elapsedMs(): number {
    return Math.max(performance.now() - this.monotonic, Date.now() - this.wall);
  }
}
