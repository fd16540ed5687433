// What a command prints, and the signals of a terminal.
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { describeError, OutputError } from '../errors/operator-message.js';
import { escapeLines } from '../errors/redact.js';

/** Elsewhere, such as in a log, progress shows that a command which takes long still works. */
const PROGRESS_INTERVALS_MS = { terminal: 5_000, elsewhere: 30_000 };
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
    else writeFileSync(process.stdout.fd, text);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EPIPE') throw cause;
    throw new OutputError(`standard output: ${describeError(cause)}`, { cause });
  }
}

/**
 * Prints the result of a command: as JSON with `--json`, else as text, whose control characters are escaped: it may quote
 * what somebody else has made. @throws as {@link writeOutput}
 */
export function printResult(command: Command, text: string, value: unknown): Promise<void> {
  const { json } = command.optsWithGlobals<{ json?: true }>();
  return writeOutput(`${json ? JSON.stringify(value, null, 2) : escapeLines(text)}\n`);
}

export function alignColumns(rows: readonly (readonly string[])[]): string {
  const measure = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => measure(column)) ?? [];
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** `2026-04-02 03:04`, in UTC, or `-` if there is none. */
export function formatMinute(time: Date | null): string {
  return time?.toISOString().slice(0, 16).replace('T', ' ') ?? '-';
}

/** Handles the first of each signal that would end the process, until disposed; leaves the next to Node. */
export function onEndingSignal(handle: (signal: NodeJS.Signals) => void): Disposable {
  for (const signal of ENDING_SIGNALS) process.once(signal, handle);
  const leave = () => ENDING_SIGNALS.forEach((signal) => process.off(signal, handle));
  return { [Symbol.dispose]: leave };
}

/** Tells a person what a command works on. Others that read stderr, such as cron, get failures only. */
export function printOnTerminal(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}

/** Warns the operator; the command goes on. */
export function warn(text: string): void {
  process.stderr.write(`warning: ${text}\n`);
}

/** Prints progress to stderr from time to time, until disposed. */
export function showProgress(describe: () => string): Disposable {
  const print = () => process.stderr.write(`${describe()}\n`);
  const where = process.stderr.isTTY ? 'terminal' : 'elsewhere';
  const timer = setInterval(print, PROGRESS_INTERVALS_MS[where]).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
