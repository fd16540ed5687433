import { Option, type Command } from 'commander';
import type { Config } from '../config/config.js';

/** The options of every command. */
export interface GlobalOptions {
  readonly envFile?: string;
  readonly quiet?: true;
}

/**
 * The configuration of a command that works on the store; says on stderr which store that is.
 *
 * @throws ConfigError
 */
export async function readStoreConfig(command: Command): Promise<Config> {
  const { readConfig } = await import('../config/environment.js');
  const { describeProcess } = await import('../config/describe.js');
  const config = readConfig();
  const { quiet } = command.optsWithGlobals<GlobalOptions>();
  if (!quiet) process.stderr.write(`${describeProcess(config)}\n`);
  return config;
}

/** What ends a process where nothing listens for it. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Handles the first of each signal that would end the process, and leaves the next to Node.
 *
 * @returns a function that ends the handling
 */
export function onEndingSignal(handle: (signal: NodeJS.Signals) => void): () => void {
  for (const signal of SIGNALS) process.once(signal, handle);
  return () => {
    for (const signal of SIGNALS) process.off(signal, handle);
  };
}

/** `--json`, for a command that prints by {@link print}. */
export function jsonOption(): Option {
  return new Option('--json', 'print JSON');
}

/** Writes what a command found or did: as JSON with `--json`, else as text. */
export function print(command: Command, text: string, value: unknown): void {
  const { json } = command.opts<{ json?: true }>();
  process.stdout.write(`${json ? JSON.stringify(value, null, 2) : text}\n`);
}

/** A table to read: the rows one a line, their columns as wide as the widest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const width = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const widths = rows[0]?.map((_, column) => width(column)) ?? [];
  const lines = rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}
