import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Addition } from './differences.js';
import type { JsonObject } from './json.js';

/** The text of a file of the repository, by its path from the top, where npm starts its scripts. */
export function read(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The interface as it was written by hand. */
export const contract = parse(read('contract/openapi.yaml')) as JsonObject;
/** What the published document may say beyond it. */
export const additions = parse(read('contract/additions.yaml')) as Addition[];
/** The document that `npm run openapi` has written. */
export const published = JSON.parse(read('openapi.json')) as JsonObject;
