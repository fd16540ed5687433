import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';

/** @throws RangeError without values */
export function medianOf(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('no values');
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
  const args = process.argv.slice(2);
  const command = ['npm run', script, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB of memory`;
  return [
    `- ${new Date().toISOString().slice(0, 10)}, \`${command}\`, Node ${process.versions.node}`,
    `- ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${memory}, ${type()} ${release()}`,
    ...items,
  ].join('\n');
}

/**
 * Ends the process. Prints the report and what is wrong; if nothing is, writes the report between its
 * markers on a page.
 *
 * @param place the page and the name of the report on it; nothing is written without it
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
    process.exit(1);
  }
  if (place) {
    const [page, name] = place;
    const block = new RegExp(`(?<=<!-- begin ${name} -->\n)[^]*(?=<!-- end ${name} -->)`);
    const text = readFileSync(page, 'utf8').replace(block, () => `\n${markdown}\n\n`);
    writeFileSync(page, text);
  }
  process.exit();
}
