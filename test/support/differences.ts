import { canonical, type Json, type JsonObject } from './json.js';
import { Place } from './openapi-place.js';

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
