import {
  canonical,
  isObject,
  pointerTo,
  valueAt,
  type Json,
  type JsonObject,
} from './published.js';

/** What a document may have besides the contract; contract/additions.yaml explains the members. */
export interface Addition {
  readonly name: string;
  readonly at: string;
  readonly why: string;
  readonly is?: Json;
}

/**
 * Compares the meaning of an OpenAPI document with its contract in both directions. References and the
 * order of members make no difference. The contract must have no circular references.
 *
 * @returns a line for every difference, with the JSON pointer of its place in the document first, and
 *   one for every addition that matches nothing
 */
export function differences(
  contract: JsonObject,
  document: JsonObject,
  additions: readonly Addition[],
): string[] {
  const found = new Set<string>();
  const unused = new Set(additions);

  function compare(expected: Place, actual: Place): void {
    const [wanted, had] = [expected.resolve(), actual.resolve()];
    const [wantedMembers, members] = [wanted.members(), had.members()];
    const isSameKind = Array.isArray(wanted.value) === Array.isArray(had.value);
    if (!wantedMembers || !members || !isSameKind) {
      const [should, is] = [canonical(wanted.value), canonical(had.value)];
      if (should !== is) found.add(`${had.at}: is ${is}, the contract says ${should}`);
      return;
    }
    for (const [name, place] of wantedMembers) {
      const member = members.get(name);
      if (member) compare(place, member);
      else found.add(`${had.at}: lacks ${name}`);
    }
    for (const [name, place] of members) if (!wantedMembers.has(name)) allow(place);
  }

  function allow(place: Place): void {
    const matching = additions.filter(({ at }) => matches(at, place.at));
    if (matching.length === 0) found.add(`${place.at}: is neither in the contract nor an addition`);
    for (const addition of matching) {
      unused.delete(addition);
      if (addition.is !== undefined) compare(new Place(contract, place.at, addition.is), place);
    }
  }

  compare(new Place(contract, '', contract), new Place(document, '', document));
  for (const { name, at } of unused) found.add(`${at}: the addition "${name}" matches nothing`);
  return [...found];
}

/** Whether a JSON pointer fits a pattern: `*` is any one name, `**` any number of them. */
function matches(pattern: string, pointer: string): boolean {
  const parts = pattern.split('/').slice(1);
  const expressions = parts.map((part) => {
    if (part === '**') return '(/[^/]*)*';
    return part === '*' ? '/[^/]*' : `/${part.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')}`;
  });
  return new RegExp(`^${expressions.join('')}$`).test(pointer);
}

const OPERATION = /^\/paths\/[^/]+\/(get|put|post|delete|options|head|patch|trace)$/;
const SET = /\/(required|enum|tags|security)$/;
/** Objects whose members have free names, without a meaning in OpenAPI. */
const MAP = /\/(paths|responses|headers|content|examples|schemas|securitySchemes|properties)$/;

/** Defaults of absent members in OpenAPI 3.1.0 and JSON Schema 2020-12. */
const DEFAULTS: Readonly<Record<string, readonly string[]>> = {
  parameters: ['[]'],
  tags: ['[]'],
  required: ['false', '[]'],
  deprecated: ['false'],
  allowEmptyValue: ['false'],
  additionalProperties: ['true', '{}'],
};

/** A place in an OpenAPI document, and what it means. */
export class Place {
  /**
   * @param root the document, for references
   * @param at the JSON pointer of the place
   * @param isNamed whether the last name of the pointer is a free name
   */
  constructor(
    readonly root: JsonObject,
    readonly at: string,
    readonly value: Json,
    private readonly isNamed = false,
  ) {}

  /** Replaces a reference by its target, plus the members beside the `$ref`. */
  resolve(): Place {
    if (!isObject(this.value) || typeof this.value.$ref !== 'string') return this;
    const { $ref, ...beside } = this.value;
    const target = valueAt(this.root, decodeURIComponent($ref.replace(/^#/, '')));
    if (!isObject(target)) return this;
    return new Place(this.root, this.at, { ...target, ...beside }, this.isNamed).resolve();
  }

  /** The members without explicit defaults; undefined for a scalar. */
  members(): Map<string, Place> | undefined {
    const { value } = this;
    if (Array.isArray(value)) {
      const isSet = !this.isNamed && SET.test(this.at);
      return this.places(value.map((item, i) => [isSet ? canonical(item) : String(i), item]));
    }
    if (!isObject(value)) return undefined;
    const entries = Object.entries(this.withSecurity(value));
    if (this.isMap()) return this.places(entries);
    return this.places(entries.filter(([key, item]) => !DEFAULTS[key]?.includes(canonical(item))));
  }

  /** Adds the security of the document to an operation without its own. */
  private withSecurity(value: JsonObject): JsonObject {
    const { security, ...rest } = value;
    if (this.at === '') return rest;
    const inherited = this.root.security;
    const inherits = OPERATION.test(this.at) && security === undefined && inherited !== undefined;
    return inherits ? { ...rest, security: inherited } : value;
  }

  private places(entries: [string, Json][]): Map<string, Place> {
    const isMap = this.isMap();
    return new Map(
      entries.map(([name, item]) => [
        name,
        new Place(this.root, pointerTo(this.at, name), item, isMap),
      ]),
    );
  }

  private isMap(): boolean {
    return !this.isNamed && isObject(this.value) && MAP.test(this.at);
  }
}
