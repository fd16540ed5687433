import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plotOf } from './plot.js';
import { ROOT } from './processes.js';
import type { Row } from './rounds.js';

const DOCS = join(ROOT, 'docs');
const PAGE = join(DOCS, 'performance.md');

/** Puts Markdown between its two markers in docs/performance.md, or at the end where it has none. */
export function writeBlock(name: string, markdown: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const [begin, end] = [`<!-- bench:begin ${name} -->`, `<!-- bench:end ${name} -->`];
  const block = `${begin}\n\n${markdown}\n\n${end}`;
  const place = new RegExp(`${begin}[^]*?${end}`);
  writeFileSync(
    PAGE,
    place.test(page) ? page.replace(place, () => block) : `${page.trimEnd()}\n\n${block}\n`,
  );
}

/** Writes a picture of the rates beside the page, and returns the Markdown that shows it. */
export function pictureOf(name: string, title: string, rows: readonly Row[]): string {
  const file = `performance-${name}.svg`;
  writeFileSync(join(DOCS, file), plotOf(rows, title));
  return `![${title}](${file})`;
}
