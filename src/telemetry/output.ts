import type { Writable } from 'node:stream';

/** Characters that may wait for a slow reader; what comes beyond them is dropped. */
export const MAX_WAITING_CHARACTERS = 1024 * 1024;

/**
 * Where the lines of the log go: a stream that takes each line at once where it can, as
 * process.stdout does, so that no line is lost when the process ends or crashes. (A line to a pipe
 * takes 2 µs; pino's own destination would stop the process at a pipe that nobody reads.)
 *
 * Whoever reads the log cannot stop the service: while a pipe is full, lines wait up to a bound and
 * are then counted and dropped; where the reader has gone, or a disk is full, they are lost.
 */
export class Output {
  private dropped = 0;
  /** Told how many lines were dropped, once the reader has caught up. */
  onCaughtUp: (dropped: number) => void = () => undefined;

  constructor(private readonly stream: Writable) {
    stream.on('error', () => undefined);
    stream.on('drain', () => {
      const { dropped } = this;
      this.dropped = 0;
      if (dropped > 0) this.onCaughtUp(dropped);
    });
  }

  /** @param line with the line break at its end */
  write(line: string): void {
    if (this.stream.writableLength < MAX_WAITING_CHARACTERS) this.stream.write(line);
    else this.dropped += 1;
  }
}
