import {
  canonical,
  isObject,
  pointerTo,
  valueAt,
  type Json,
  type JsonObject,
} from './published.js';

/** What a document may say beyond the contract; contract/additions.yaml explains the members. */
export interface Addition {
  readonly name: string;
  readonly at: string;
  readonly why: string;
  readonly is?: Json;
}

/**
 * Compares the meaning of an OpenAPI document with that of its contract, both ways: whether a schema
 * is referred to or written in place does not matter, nor does the order of members. The contract
 * must not refer to itself in a circle.
 *
 * @returns a line for every difference, which starts with the JSON pointer of its place in the
 *   document, and one for every addition that matches nothing; none where all is well
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
/** Objects whose members have names of the author's choice, which mean nothing to OpenAPI. */
const MAP = /\/(paths|responses|headers|content|examples|schemas|securitySchemes|properties)$/;

/** What OpenAPI 3.1.0 and JSON Schema 2020-12 take an absent member for. */
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
   * @param root the document, which references point into
   * @param at the JSON pointer of the place
   * @param isNamed whether the last name of the pointer is of the author's choice
   */
  constructor(
    readonly root: JsonObject,
    readonly at: string,
    readonly value: Json,
    private readonly isNamed = false,
  ) {}

  /** What a reference stands for, at its own place; members beside a `$ref` are added to it. */
  resolve(): Place {
    if (!isObject(this.value) || typeof this.value.$ref !== 'string') return this;
    const { $ref, ...beside } = this.value;
    const target = valueAt(this.root, decodeURIComponent($ref.replace(/^#/, '')));
    if (!isObject(target)) return this;
    return new Place(this.root, this.at, { ...target, ...beside }, this.isNamed).resolve();
  }

  /** The members that a meaning is made of, none that only says a default; of a scalar, undefined. */
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

  /** The security of the document is that of every operation which has none of its own. */
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
