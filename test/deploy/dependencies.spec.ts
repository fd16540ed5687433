/** @engine sqlite */
import { readdirSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { expect, it } from '@jest/globals';
import ts from 'typescript';
import { read } from '../support/published.js';

const { dependencies } = JSON.parse(read('package.json')) as {
  dependencies: Record<string, string>;
};
const SOURCES = readdirSync(new URL('../../src', import.meta.url), {
  recursive: true,
  encoding: 'utf8',
}).filter((path) => /(?<!\.spec)\.[jt]s$/.test(path));

/** The packages that a file imports: `@nestjs/common` of `@nestjs/common/x.js`. */
function packagesOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(read(`src/${path}`));
  return importedFiles
    .map(({ fileName }) => /^(@[^/]+\/)?[^./][^/]*/.exec(fileName)?.[0] ?? '')
    .filter((name) => name !== '' && !isBuiltin(name));
}

it.each(SOURCES)('src/%s imports production dependencies only', (path) => {
  expect(packagesOf(path).filter((name) => !(name in dependencies))).toEqual([]);
});
