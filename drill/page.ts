import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../bench/processes.js';

const PAGE = join(ROOT, 'docs/reliability.md');
const [BEGIN, END] = ['<!-- drill:begin -->', '<!-- drill:end -->'];

/** Puts Markdown between the two markers in docs/reliability.md. */
export function writeReport(markdown: string): void {
  const page = readFileSync(PAGE, 'utf8');
  const place = new RegExp(`${BEGIN}[^]*?${END}`);
  if (!place.test(page)) throw new Error(`${PAGE} has no ${BEGIN} and ${END}`);
  writeFileSync(
    PAGE,
    page.replace(place, () => `${BEGIN}\n\n${markdown}\n\n${END}`),
  );
}
