// What a command prints, and the signals of a terminal.
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { describeError, OutputError } from '../errors/operator-message.js';

export interface GlobalOptions {
  readonly envFile?: string;
  readonly json?: true;
}

const STDOUT_DESCRIPTOR = 1;
const REDRAW_INTERVAL_MS = 100;
const CLEAR_LINE = '\r\u001B[K';
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Writes all of a text to stdout. @throws OutputError; EPIPE if the reader of a pipe has left */
export async function writeOutput(text: string | Buffer): Promise<void> {
  const { stdout }: { stdout: Writable } = process;
  try {
    // On a file, Node's own stream takes a short write, as on a full disk, for a success.
    if (stdout instanceof Socket)
      await new Promise<void>((resolve, reject) => {
        stdout.write(text, (error) => (error ? reject(error) : resolve()));
      });
    else writeFileSync(STDOUT_DESCRIPTOR, text);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EPIPE') throw cause;
    throw new OutputError(`standard output: ${describeError(cause)}`, { cause });
  }
}

/** Prints the result of a command: as JSON with `--json`, else as text. @throws as {@link writeOutput} */
export function printResult(command: Command, text: string, value: unknown): Promise<void> {
  const { json } = command.optsWithGlobals<GlobalOptions>();
  return writeOutput(`${json ? JSON.stringify(value, null, 2) : text}\n`);
}

export function alignColumns(rows: readonly (readonly string[])[]): string {
  const measure = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => measure(column)) ?? [];
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Handles the first of each signal that would end the process, until disposed; leaves the next to Node. */
export function onEndingSignal(handle: (signal: NodeJS.Signals) => void): Disposable {
  const handled = new DisposableStack();
  for (const signal of ENDING_SIGNALS) {
    process.once(signal, handle);
    handled.defer(() => process.off(signal, handle));
  }
  return handled;
}

/** A line on a terminal's stderr that shows how far the work is, until disposed. */
export class Progress {
  private readonly started = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;

  /** @param describe the state of the work after some seconds, in one line */
  constructor(describe: (seconds: number) => string) {
    const { stderr } = process;
    if (!stderr.isTTY) return;
    const draw = (): void => {
      const line = describe((performance.now() - this.started) / 1_000);
      // CLEAR_LINE would not remove a line that wraps.
      stderr.write(CLEAR_LINE + line.slice(0, stderr.columns - 1));
    };
    this.timer = setInterval(draw, REDRAW_INTERVAL_MS).unref();
  }

  /** Prints a line that stays, above the progress. */
  print(line: string): void {
    this.clear();
    process.stderr.write(`${line}\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.timer);
    this.clear();
  }

  private clear(): void {
    if (this.timer) process.stderr.write(CLEAR_LINE);
  }
}
