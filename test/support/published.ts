import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Addition } from './differences.js';

/** The text of a file of the repository, by its path from the top, where npm runs its scripts. */
export function read(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The interface, written by hand. */
export const contract = parse(read('contract/openapi.yaml')) as JsonObject;
/** Permitted additions of the published document. */
export const additions = parse(read('contract/additions.yaml')) as Addition[];
/** The document that `npm run openapi` writes. */
export const published = JSON.parse(read('openapi.json')) as JsonObject;

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [name: string]: Json;
}

/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The text of a JSON value, independent of the order of members. */
export function canonical(value: Json): string {
  return JSON.stringify(value, (_name, item: Json) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort()) : item,
  );
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
