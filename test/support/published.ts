import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';

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

/** What a document may have besides the contract; contract/additions.yaml explains the members. */
interface Addition {
  readonly name: string;
  readonly at: string;
  readonly why: string;
  readonly is?: Json;
}

/** The interface, written by hand. */
export const contract = parse(read('contract/openapi.yaml')) as JsonObject;
/** NewPlant, as the contract has it. */
export const newPlant = valueAt(contract, '/components/schemas/NewPlant') as unknown as {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, { readonly type: string }>>;
};
/** Permitted additions of the published document. */
const additions = parse(read('contract/additions.yaml')) as Addition[];
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

/**
 * The document with the target of each reference in its place, and with the security that it has for all
 * operations on each. Lists are sorted: the order of those of names and of parameters says nothing in OpenAPI. It
 * must have no circular references.
 */
export function dereference({ security, ...document }: JsonObject): JsonObject {
  const resolve = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(resolve).sort(byName);
    if (!isObject(value)) return value;
    const { $ref, ...beside } = value;
    if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return mapMembers(value, resolve);
    const target = valueAt(document, decodeURIComponent($ref.slice(1)));
    return resolve({ ...(target as JsonObject), ...beside });
  };
  const secure = (operation: Json): Json =>
    isObject(operation) && security ? { security, ...operation } : operation;
  const { paths = {}, ...rest } = mapMembers(document, resolve);
  return { ...rest, paths: mapMembers(paths, (path) => mapMembers(path, secure)) };
}

function byName(one: Json, other: Json): number {
  const nameOf = (value: Json) => JSON.stringify(isObject(value) ? (value.name ?? '') : value);
  return nameOf(one).localeCompare(nameOf(other));
}

function mapMembers(object: Json, change: (value: Json) => Json): JsonObject {
  const entries = Object.entries(object as JsonObject);
  return Object.fromEntries(entries.map(([name, value]) => [name, change(value)]));
}

/**
 * Removes permitted additions from a document.
 *
 * @returns the dereferenced document without them, and the names of those that it does not have
 */
export function withoutAdditions(document: JsonObject): { rest: Json; unused: string[] } {
  const unused = new Set(additions.map(({ name }) => name));
  const strip = (value: Json, expected: Json | undefined, at: string): Json => {
    if (!isObject(value) || !isObject(expected)) return value;
    const kept = Object.entries(value).flatMap<[string, Json]>(([name, member]) => {
      const place = pointerTo(at, name);
      if (name in expected) return [[name, strip(member, expected[name], place)]];
      const matching = additions.filter((addition) => matches(addition.at, place));
      for (const addition of matching) unused.delete(addition.name);
      const isAllowed = matching.some(({ is }) => {
        const shape = is && valueAt(dereference({ ...contract, is }), '/is');
        return shape === undefined || isDeepStrictEqual(strip(member, shape, place), shape);
      });
      return isAllowed ? [] : [[name, member]];
    });
    return Object.fromEntries(kept);
  };
  const rest = strip(dereference(document), dereference(contract), '');
  return { rest, unused: [...unused] };
}

/** Whether a JSON pointer fits a pattern: `*` is any one name, `**` any number of them. */
function matches(pattern: string, pointer: string): boolean {
  const source = pattern
    .replace(/[\\^$.|?+()[\]{}]/g, '\\$&')
    .replace(/\/\*\*|\*/g, (part) => (part === '*' ? '[^/]+' : '(/[^/]+)*'));
  return new RegExp(`^${source}$`).test(pointer);
}
