import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

/** Median and range of some values. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError without values */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('no values');
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted.at(index) ?? NaN;
  const half = (sorted.length - 1) / 2;
  return { median: (at(Math.floor(half)) + at(Math.ceil(half))) / 2, min: at(0), max: at(-1) };
}

/** A median with its range in brackets. */
export function format({ median, min, max }: Spread, digits: number): string {
  return `${number(median, digits)} (${number(min, digits)}–${number(max, digits)})`;
}

/** A number with commas between thousands. */
export function number(value: number, digits = 0): string {
  const [minimumFractionDigits, maximumFractionDigits] = [digits, digits];
  return value.toLocaleString('en', { minimumFractionDigits, maximumFractionDigits });
}

/** A share in whole percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** A table. All columns but the first hold figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, i) => (i === 0 ? ':--' : '--:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A row of a table, and what is wrong. */
export interface Outcome {
  readonly row: readonly string[];
  readonly wrong: readonly string[];
}

/** Describes a run for its repetition, as a list. @param items further items */
export function describeRun(node: string, ...items: string[]): string {
  const { npm_lifecycle_event: script = '' } = process.env;
  const args = process.argv.slice(2);
  const command = ['npm', 'run', script, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`;
  return [
    `- ${new Date().toISOString().slice(0, 10)}, \`${command}\`, Node ${node}`,
    `- ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory}, ${type()} ${release()}`,
    ...items,
  ].join('\n');
}

/**
 * Ends the process. Prints the report and what is wrong; if nothing is, writes the report between its
 * markers on a page.
 *
 * @param place undefined for a quick run, which writes nothing
 */
export function publish(
  report: readonly string[],
  wrong: readonly string[],
  place?: readonly [page: string, name: string],
): never {
  const markdown = report.join('\n\n');
  console.log(`\n${markdown}`);
  if (wrong.length > 0) {
    console.error(`\n${wrong.length} wrong, the first of them:\n${wrong.slice(0, 20).join('\n')}`);
  } else if (place) writeBlock(...place, markdown);
  process.exit(wrong.length > 0 ? 1 : 0);
}

/** @throws Error if the page lacks the markers */
function writeBlock(file: string, name: string, markdown: string): void {
  const text = readFileSync(file, 'utf8');
  const [before, rest] = text.split(`<!-- begin ${name} -->`);
  const [, after] = rest?.split(`<!-- end ${name} -->`) ?? [];
  if (after === undefined) throw new Error(`${file} has no place for ${name}`);
  const block = `<!-- begin ${name} -->\n\n${markdown}\n\n<!-- end ${name} -->`;
  writeFileSync(file, `${before}${block}${after}`);
}
