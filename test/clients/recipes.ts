import { read } from '../support/published.js';

/** The generators of TypeScript, by exact version; those of other languages are on the page. */
const TYPESCRIPT = 'typescript@5.9.3 @types/node@26.6.6';
const OPENAPI_FETCH = 'openapi-typescript@7.13.0 openapi-fetch@0.17.0';
const HEY_API = '@hey-api/openapi-ts@0.99.0';
const ORVAL = 'orval@8.0.0';
const install = (packages: string) =>
  `echo '{"type":"module"}' > package.json; npm install --ignore-scripts --no-audit --no-fund ${packages} ${TYPESCRIPT}`;
/** Type-checks as strictly as TypeScript can be; Node.js then runs the source itself. */
const compile =
  'npx tsc --noEmit --strict --target es2024 --module nodenext --allowImportingTsExtensions main.ts';
const run = 'node main.ts';

/** How each client is generated, compiled and run: lines of a shell, in a folder with `openapi.json`. */
export const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  own: [
    install(''),
    'mkdir -p node_modules && ln -s "$PACKAGE" node_modules/plant-store',
    compile,
    run,
  ],
  'openapi-fetch': [install(OPENAPI_FETCH), 'node generate.ts', compile, run],
  'hey-api': [install(HEY_API), 'npx openapi-ts -f openapi-ts.config.mjs', compile, run],
  orval: [install(ORVAL), 'npx orval --config orval.config.mjs', compile, run],
  python: linesOf('Python'),
  go: linesOf('Go'),
  java: linesOf('Java'),
};

/** The shell lines below a heading of the page on clients. */
function linesOf(heading: string): string[] {
  const [, section = ''] = read('docs/clients.md').split(`\n### ${heading}\n`);
  const [, block = ''] = /```sh\n([^]*?)\n```/.exec(section) ?? [];
  return block.split(/(?<!\\)\n/);
}
