// Its fields are what fills the list.
import './config.js';
import { VARIABLES } from './variable.js';

/** Letters that two short names, and two longer ones, may differ in to be taken for the same. */
const SHORT = { length: 5, typos: 1 };
const LONG = { typos: 2 };

/** One of OpenSSL's, which is right where it looks like ours. */
const FOREIGN = 'SSL_CERT_FILE';

/**
 * Warns of names that are none of ours but look like one: a typo would leave the default in place unseen.
 *
 * @param others names that are no variables of the configuration, but right
 * @returns a line for each, with the nearest name
 */
export function misspelledNames(names: Iterable<string>, others: readonly string[] = []): string[] {
  const ours = VARIABLES.flatMap(({ name, mask }) => (mask ? [name, `${name}_FILE`] : [name]));
  const known = new Set([...ours, ...others]);
  return [...names].flatMap((name) => {
    const nearest = known.has(name) || name === FOREIGN ? undefined : nearestOf(name, known);
    return nearest === undefined ? [] : [`${name} is ignored: did you mean ${nearest}?`];
  });
}

function nearestOf(name: string, ours: Iterable<string>): string | undefined {
  const near = [...ours]
    .filter((candidate) => Math.abs(candidate.length - name.length) <= LONG.typos)
    .map((candidate) => ({ candidate, distance: distance(name.toUpperCase(), candidate) }))
    .filter((one) => one.distance <= typosIn(one.candidate));
  return near.sort((a, b) => a.distance - b.distance)[0]?.candidate;
}

function typosIn({ length }: string): number {
  return length <= SHORT.length ? SHORT.typos : LONG.typos;
}

/**
 * How many letters must be inserted, removed, replaced or swapped with the next to make one text of another
 * (optimal string alignment).
 */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : i)),
  );
  const at = (i: number, j: number) => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? at(i - 2, j - 2) + 1 : Infinity;
      const row = rows[i];
      if (row) row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped);
    }
  }
  return at(a.length, b.length);
}
