import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { CONTROL_CHARACTERS, describeError, OutputError } from '../errors/operator-message.js';

export interface GlobalOptions {
  readonly envFile?: string;
  readonly quiet?: true;
  readonly json?: true;
}

const STDOUT_DESCRIPTOR = 1;

/**
 * Writes all of a text to stdout.
 *
 * @throws OutputError; EPIPE if the reader of a pipe has left
 */
export async function writeOutput(text: string | Buffer): Promise<void> {
  const { stdout }: { stdout: Writable } = process;
  try {
    if (stdout instanceof Socket) await writeToStream(stdout, text);
    else writeToFile(text);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EPIPE') throw cause;
    throw new OutputError(`standard output: ${describeError(cause)}`, { cause });
  }
}

/** On a file, Node's own stream takes a short write, as on a full disk, for a success. */
function writeToFile(text: string | Buffer): void {
  for (let rest = Buffer.from(text); rest.length > 0;)
    rest = rest.subarray(writeSync(STDOUT_DESCRIPTOR, rest));
}

function writeToStream(stream: Writable, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Prints the result of a command: as JSON with `--json`, else as text. @throws as {@link writeOutput} */
export function printResult(command: Command, text: string, value: unknown): Promise<void> {
  const { json } = command.optsWithGlobals<GlobalOptions>();
  return writeOutput(`${json ? JSON.stringify(value, null, 2) : text}\n`);
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
