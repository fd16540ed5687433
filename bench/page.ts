import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './processes.js';

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

/** Writes a picture beside the page, and returns its name. */
export function writePlot(name: string, svg: string): string {
  const file = `performance-${name}.svg`;
  writeFileSync(join(DOCS, file), svg);
  return file;
}
