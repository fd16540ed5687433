import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** The text of a file of the repository, by its path from the top, where npm runs its scripts. */
export function read(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The first block of code in a language that follows a heading of a page and contains a text. */
export function blockOf(page: string, heading: string, language = 'sh', containing = ''): string {
  const [, section = ''] = read(page).split(`# ${heading}\n`);
  const blocks = section.matchAll(/^```(\w+)\n([^]*?)^```$/gm);
  const found = Array.from(blocks).find(
    ([, tag, text = '']) => tag === language && text.includes(containing),
  );
  if (found?.[2] === undefined) throw new Error(`${page}, ${heading}: no block of ${language}`);
  return found[2];
}

/** Has the digest of the texts that docs/swagger-ui.png shows. `npm test -- --selectProjects browser` renews both. */
export const PICTURED = 'docs/swagger-ui.sha256';

/** The digest of a served document, with the server that the docs page shows. */
export function digestTexts(document: JsonObject): string {
  const { servers = [], ...texts } = document;
  const shown = JSON.stringify([texts, (servers as Json[]).at(-1)]);
  return `${createHash('sha256').update(shown).digest('hex')}\n`;
}

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [name: string]: Json;
}

/** The document that `npm run openapi` writes. */
export const published = JSON.parse(read('openapi.json')) as JsonObject;

/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The JSON pointer (RFC 6901) of a member of the value at another pointer. */
export function pointerTo(at: string, name: string): string {
  return `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The value at a JSON pointer, or undefined. */
export function valueAt(root: Json, pointer: string): Json | undefined {
  const names = pointer.split('/').slice(1);
  return names
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<Json | undefined>((value, name) => (isObject(value) ? value[name] : undefined), root);
}
