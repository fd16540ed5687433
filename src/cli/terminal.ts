import type { Command } from 'commander';
import { CONTROL_CHARACTERS } from '../errors/operator-message.js';

/** The options of every command. */
export interface GlobalOptions {
  readonly envFile?: string;
  readonly quiet?: true;
  readonly json?: true;
}

/** Prints the result of a command to stdout: as JSON with `--json`, else as text. */
export function printResult(command: Command, text: string, value: unknown): void {
  const { json } = command.optsWithGlobals<GlobalOptions>();
  process.stdout.write(`${json ? JSON.stringify(value, null, 2) : text}\n`);
}

/** Lays rows out as a table, a line for each. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const measure = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => measure(column)) ?? [];
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Replaces characters that would move the cursor of a terminal or break the line. */
export function toPrintable(text: string): string {
  return text.replaceAll(CONTROL_CHARACTERS, ' ');
}

const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Handles the first of each signal that would end the process, until disposed; leaves the next to Node. */
export function onEndingSignal(handle: (signal: NodeJS.Signals) => void): Disposable {
  const handled = new DisposableStack();
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, handle);
    handled.defer(() => process.off(signal, handle));
  }
  return handled;
}

const REDRAW_INTERVAL_MS = 100;
/** Between two plain lines, if stderr is no terminal. */
const REPORT_INTERVAL_MS = 5_000;
const BAR_WIDTH = 24;
const CLEAR = '\r\u001B[K';

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows progress on stderr: one line that is redrawn on a terminal, a plain line every 5 seconds elsewhere. */
export class Progress {
  private readonly started = Date.now();
  private readonly timer: NodeJS.Timeout;

  /** @param describe the state of the work after some seconds, in one line */
  constructor(
    private readonly describe: (seconds: number) => string,
    private readonly stream: Terminal = process.stderr,
  ) {
    const interval = stream.isTTY ? REDRAW_INTERVAL_MS : REPORT_INTERVAL_MS;
    this.timer = setInterval(() => this.draw(), interval).unref();
  }

  /** Writes a line that stays, above the progress. */
  say(line: string): void {
    this.clear();
    this.stream.write(`${line}\n`);
  }

  end(): void {
    clearInterval(this.timer);
    this.clear();
  }

  [Symbol.dispose](): void {
    this.end();
  }

  private clear(): void {
    if (this.stream.isTTY) this.stream.write(CLEAR);
  }

  private draw(): void {
    const line = this.describe((Date.now() - this.started) / 1_000);
    const { isTTY, columns = 80 } = this.stream;
    // CLEAR would not remove a line that wraps.
    this.stream.write(isTTY ? `${CLEAR}${line.slice(0, columns - 1)}` : `${line}\n`);
  }
}

/** Shows how much of something is done, when the total is unknown. */
export function showCount(what: string, done: { readonly count: number }): Progress {
  return new Progress((seconds) => `${what} ${done.count}, ${Math.round(done.count / seconds)}/s`);
}

/** Draws a bar with a percentage; a total that was measured too small still gives 100 %. */
export function drawBar(done: number, total: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const bar = '='.repeat(Math.floor(share * BAR_WIDTH)).padEnd(BAR_WIDTH);
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}
