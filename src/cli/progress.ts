/** Milliseconds between two drawings of the bar, and between two plain lines. */
const REDRAW_MS = 100;
const REPORT_MS = 5_000;
const CELLS = 24;
const CLEAR = '\r\u001B[K';

/** Where progress is shown: the standard error, as a rule. */
interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows how some work stands: a bar on a terminal, a plain line every few seconds elsewhere. */
export class Progress {
  private readonly started = Date.now();
  private readonly timer: NodeJS.Timeout;

  /** @param line how the work stands after so many seconds, in one line */
  constructor(
    private readonly line: (seconds: number) => string,
    private readonly terminal: Terminal = process.stderr,
  ) {
    this.timer = setInterval(() => this.show(), terminal.isTTY ? REDRAW_MS : REPORT_MS).unref();
  }

  /** Writes a line that stays; the bar, if there is one, goes on below it. */
  say(line: string): void {
    this.clear();
    this.terminal.write(`${line}\n`);
  }

  end(): void {
    clearInterval(this.timer);
    this.clear();
  }

  private clear(): void {
    if (this.terminal.isTTY) this.terminal.write(CLEAR);
  }

  private show(): void {
    const line = this.line((Date.now() - this.started) / 1_000);
    const { isTTY, columns = 80 } = this.terminal;
    // A line that wraps could not be taken back.
    this.terminal.write(isTTY ? `${CLEAR}${line.slice(0, columns - 1)}` : `${line}\n`);
  }
}

/** The progress of some work that counts what it has done, of a whole that nobody has counted. */
export function progressOf(what: string, done: { readonly count: number }): Progress {
  return new Progress((seconds) => `${what} ${done.count}, ${Math.round(done.count / seconds)}/s`);
}

/** A bar for what is done of a whole, which may have grown since it was measured. */
export function barOf(done: number, whole: number): string {
  const share = whole === 0 ? 1 : Math.min(1, done / whole);
  const bar = '='.repeat(Math.floor(share * CELLS)).padEnd(CELLS);
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}
