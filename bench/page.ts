import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plotOf } from './plot.js';
import { ROOT } from './processes.js';
import type { Row } from './rounds.js';

const DOCS = join(ROOT, 'docs');

/** Puts Markdown between its two markers on a page of docs, or at the end where it has none. */
export function writeBlock(page: string, name: string, markdown: string): void {
  const file = join(DOCS, page);
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [`<!-- begin ${name} -->`, `<!-- end ${name} -->`];
  const block = `${begin}\n\n${markdown}\n\n${end}`;
  const place = new RegExp(`${begin}[^]*?${end}`);
  writeFileSync(
    file,
    place.test(text) ? text.replace(place, () => block) : `${text.trimEnd()}\n\n${block}\n`,
  );
}

/** Writes a picture of the rates beside performance.md, and returns the Markdown that shows it. */
export function pictureOf(name: string, title: string, rows: readonly Row[]): string {
  const file = `performance-${name}.svg`;
  writeFileSync(join(DOCS, file), plotOf(rows, title));
  return `![${title}](${file})`;
}
