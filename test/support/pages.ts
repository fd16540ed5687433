import { read } from './published.js';

/** The first block of code in a language that follows a heading of a page and contains a text. */
export function blockOf(page: string, heading: string, language = 'sh', containing = ''): string {
  const [, section = ''] = read(page).split(`\n## ${heading}\n`);
  const blocks = section.matchAll(/^```(\w+)\n([^]*?)^```$/gm);
  const found = Array.from(blocks).find(
    ([, tag, text = '']) => tag === language && text.includes(containing),
  );
  if (found?.[2] === undefined) throw new Error(`${page}, ${heading}: no block of ${language}`);
  return found[2];
}
