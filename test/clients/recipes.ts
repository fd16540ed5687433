import { read } from '../support/published.js';

/** How a client is made and run: lines of a shell, in a folder with its sources and `openapi.json`. */
export interface Recipe {
  readonly setup: readonly string[];
  readonly run: string;
}

const TYPESCRIPT = linesOf('TypeScript');

/** The samples of docs/clients.md. All but the generators of its table are made as the page says. */
export const CLIENTS: Readonly<Record<string, Recipe>> = {
  curl: toRecipe(linesOf('curl')),
  'openapi-fetch': toRecipe(TYPESCRIPT),
  'hey-api': toRecipe(
    generateBy('@hey-api/openapi-ts@0.99.0', 'npx openapi-ts -f openapi-ts.config.mjs'),
  ),
  orval: toRecipe(generateBy('orval@8.0.0', 'npx orval --config orval.config.mjs')),
  python: toRecipe(linesOf('Python')),
  go: toRecipe(linesOf('Go')),
  java: toRecipe(linesOf('Java')),
};

/** The page's lines for TypeScript with another generator. */
function generateBy(generator: string, generate: string): string[] {
  return TYPESCRIPT.map((line) =>
    line
      .replace(/openapi-fetch@\S+ openapi-typescript@\S+/, generator)
      .replace('node generate.ts', generate),
  );
}

function toRecipe(lines: readonly string[]): Recipe {
  return { setup: lines.slice(0, -1), run: lines.at(-1) ?? '' };
}

/** The lines of the block of shell commands below a heading of the page. */
function linesOf(heading: string): string[] {
  const [, section = ''] = read('docs/clients.md').split(`\n## ${heading}\n`);
  const [, block = ''] = /```sh\n([^]*?)\n```/.exec(section) ?? [];
  return block.split(/(?<!\\)\n/);
}
