import { blockOf } from '../support/pages.js';

/** How a client is made and run: lines of a shell, in a folder with its sources and `openapi.json`. */
export interface Recipe {
  readonly setup: readonly string[];
  readonly run: string;
}

const OTHERS = 'test/clients/README.md';
const TYPESCRIPT = linesOf('docs/clients.md', 'TypeScript');
const [HEY_API = '', ORVAL = ''] = linesOf(OTHERS, 'TypeScript by another generator');

/** The samples of docs/clients.md and of the README of this folder, made as the pages say. */
export const CLIENTS: Readonly<Record<string, Recipe>> = {
  'openapi-fetch': toRecipe(TYPESCRIPT),
  'hey-api': toRecipe(generateBy(HEY_API)),
  orval: toRecipe(generateBy(ORVAL)),
  python: toRecipe(linesOf(OTHERS, 'Python')),
  go: toRecipe(linesOf(OTHERS, 'Go')),
  java: toRecipe(linesOf(OTHERS, 'Java')),
};

/** The page's lines for TypeScript with another generator. */
function generateBy(generate: string): string[] {
  return TYPESCRIPT.map((line) => line.replace('node generate.ts', generate));
}

function toRecipe(lines: readonly string[]): Recipe {
  return { setup: lines.slice(0, -1), run: lines.at(-1) ?? '' };
}

/** The lines of a block of shell commands below a heading of a page. */
function linesOf(page: string, heading: string): string[] {
  return blockOf(page, heading)
    .trimEnd()
    .split(/(?<!\\)\n/);
}
