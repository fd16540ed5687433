import { read } from '../support/published.js';

/** How a client is made and run: lines of a shell, in a folder with its sources and `openapi.json`. */
export interface Recipe {
  readonly setup: readonly string[];
  readonly run: string;
}

const TYPESCRIPT = linesOf('TypeScript');

const [HEY_API = '', ORVAL = ''] = linesOf('TypeScript', 1);

/** The samples of docs/clients.md, made as the page says. */
export const CLIENTS: Readonly<Record<string, Recipe>> = {
  curl: toRecipe(linesOf('curl')),
  'openapi-fetch': toRecipe(TYPESCRIPT),
  'hey-api': toRecipe(generateBy(HEY_API)),
  orval: toRecipe(generateBy(ORVAL)),
  python: toRecipe(linesOf('Python')),
  go: toRecipe(linesOf('Go')),
  java: toRecipe(linesOf('Java')),
};

/** The page's lines for TypeScript with another generator. */
function generateBy(generate: string): string[] {
  return TYPESCRIPT.map((line) => line.replace('node generate.ts', generate));
}

function toRecipe(lines: readonly string[]): Recipe {
  return { setup: lines.slice(0, -1), run: lines.at(-1) ?? '' };
}

/** The lines of a block of shell commands below a heading of the page. */
function linesOf(heading: string, index = 0): string[] {
  const [, section = ''] = read('docs/clients.md').split(`\n## ${heading}\n`);
  const [, block = ''] = Array.from(section.matchAll(/```sh\n([^]*?)\n```/g))[index] ?? [];
  return block.split(/(?<!\\)\n/);
}
