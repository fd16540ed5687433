import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = (sorted.length - 1) / 2;
  const [low = NaN, high = NaN] = [sorted[Math.floor(half)], sorted[Math.ceil(half)]];
  return (low + high) / 2;
}

/** A median with its range in brackets. */
export function rangeOf(values: readonly number[], digits: number): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${number(medianOf(values), digits)} (${number(least, digits)}–${number(most, digits)})`;
}

/** A number with commas between thousands. */
export function number(value: number, digits = 0): string {
  const [minimumFractionDigits, maximumFractionDigits] = [digits, digits];
  return value.toLocaleString('en', { minimumFractionDigits, maximumFractionDigits });
}

/** A row of a table by the heads of its columns. Numbers are shown whole. */
export type Cells = Readonly<Record<string, string | number>>;

/** A table of rows with the same columns. All but the first hold figures. */
export function table(rows: readonly Cells[]): string {
  const head = Object.keys(rows[0] ?? {});
  const rule = head.map((_, i) => (i === 0 ? ':--' : '--:'));
  const cells = rows.map((row) =>
    Object.values(row).map((cell) => (typeof cell === 'number' ? number(cell) : cell)),
  );
  return [head, rule, ...cells].map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/** Describes a run for its repetition, as a list. @param items further items */
export function describeRun(...items: string[]): string {
  const { npm_lifecycle_event: script = '' } = process.env;
  const command = ['npm run', script, '--', ...process.argv.slice(2)].join(' ');
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`;
  const run = `${new Date().toISOString().slice(0, 10)}, \`${command}\`, Node ${process.versions.node}`;
  const machine = `${cpus().length} cores (${describeProcessor()}), ${memory}, ${type()} ${release()}`;
  return [run, machine, ...items].map((item) => `- ${item}`).join('\n');
}

/** `AMD EPYC, family 25`: generations of one name differ. Linux only, as are the bench and the drills. */
function describeProcessor(): string {
  const [family] = /(?<=^cpu family\s*: )\d+/m.exec(readFileSync('/proc/cpuinfo', 'utf8')) ?? [];
  return `${cpus()[0]?.model.trim()}${family === undefined ? '' : `, family ${family}`}`;
}

/** Ends the process. Prints a report and what is wrong. */
export function report(parts: readonly string[], wrong: readonly string[]): never {
  console.log(`\n${parts.join('\n\n')}`);
  if (wrong.length === 0) process.exit();
  console.error(`\n${wrong.length} wrong, the first of them:\n${wrong.slice(0, 20).join('\n')}`);
  process.exit(1);
}
