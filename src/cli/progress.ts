const REDRAW_INTERVAL_MS = 100;
const BAR_WIDTH = 24;
const CLEAR_LINE = '\r\u001B[K';

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'> & { write(text: string): unknown };

/** A line on stderr that shows how far the work is, until disposed; nothing if stderr is no terminal. */
export class Progress {
  private readonly started = Date.now();
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param describe the state of the work after some seconds, in one line */
  constructor(
    describe: (seconds: number) => string,
    private readonly stream: Terminal = process.stderr,
  ) {
    if (!stream.isTTY) return;
    const draw = (): void => {
      const line = describe((Date.now() - this.started) / 1_000);
      // CLEAR_LINE would not remove a line that wraps.
      this.stream.write(CLEAR_LINE + line.slice(0, stream.columns - 1));
    };
    this.timer = setInterval(draw, REDRAW_INTERVAL_MS).unref();
  }

  /** Prints a line that stays, above the progress. */
  print(line: string): void {
    this.clear();
    this.stream.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
    this.clear();
  }

  private clear(): void {
    if (this.timer) this.stream.write(CLEAR_LINE);
  }
}

/** Shows how much of something is done, when the total is unknown. */
export function showCount(what: string, done: { readonly count: number }): Progress {
  return new Progress((seconds) => `${what} ${done.count}, ${Math.round(done.count / seconds)}/s`);
}

/** Draws a bar with a percentage; a total that was measured too small still gives 100 %. */
export function drawBar(done: number, total: number): string {
  const share = Math.min(1, done / total);
  const bar = '='.repeat(Math.floor(share * BAR_WIDTH)).padEnd(BAR_WIDTH);
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}
