import type { Spread } from './statistics.js';

/** A figure with its spread in brackets. */
export function format({ median, min, max }: Spread, digits: number): string {
  return `${number(median, digits)} (${number(min, digits)}–${number(max, digits)})`;
}

/** A number with commas between its thousands. */
export function number(value: number, digits: number): string {
  const [minimumFractionDigits, maximumFractionDigits] = [digits, digits];
  return value.toLocaleString('en', { minimumFractionDigits, maximumFractionDigits });
}

/** A share of 1 in whole percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** A table of some columns; all but the first hold figures. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, i) => (i === 0 ? ':--' : '--:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
