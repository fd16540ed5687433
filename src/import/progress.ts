import type { Tally } from './import-plants.js';

/** Milliseconds between two drawings of the bar, and between two plain lines. */
const REDRAW = 100;
const REPORT = 5_000;
const CELLS = 24;
const CLEAR = '\r\u001B[K';

/** Where progress is shown: the standard error, as a rule. */
export interface Terminal {
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
    private readonly terminal: Terminal,
  ) {
    this.timer = setInterval(() => this.show(), terminal.isTTY ? REDRAW : REPORT);
    this.timer.unref();
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
    const seconds = (Date.now() - this.started) / 1_000;
    const { isTTY, columns = 80 } = this.terminal;
    const line = this.line(seconds);
    // A line that wraps could not be taken back.
    this.terminal.write(isTTY ? `${CLEAR}${line.slice(0, columns - 1)}` : `${line}\n`);
  }
}

/**
 * How an import stands after some seconds, in one line.
 *
 * @param total bytes of the whole source, for a bar; 0 where they are unknown, as those of a pipe
 * @param lastError why the client waits, if it does
 */
export function progressLine(
  { stored, refused, bytes }: Tally,
  total: number,
  seconds: number,
  lastError: string | undefined,
): string {
  const rate = Math.round((stored + refused) / seconds);
  const counts = `${stored} stored, ${refused} refused, ${rate}/s`;
  const bar = total === 0 ? '' : `${barOf(Math.min(1, bytes / total))} `;
  return `${bar}${counts}${lastError === undefined ? '' : `, trying again: ${lastError}`}`;
}

/** A bar for what is done of a whole: a share from 0 to 1. */
export function barOf(share: number): string {
  const done = Math.floor(share * CELLS);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${'='.repeat(done)}${' '.repeat(CELLS - done)}] ${percent} %`;
}
