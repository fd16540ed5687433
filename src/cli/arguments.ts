import { InvalidArgumentError } from 'commander';
import { parseDuration, parseHttpUrl, parseWholeNumber } from '../config/parsers.js';

const DURATION_RULE =
  'A duration is a whole number from 1 to 99999 and s, m, h, d or w, such as 90d.';

/** Milliseconds of a duration such as `90d`, more than 0. */
export const toDuration = makeParser(DURATION_RULE, (text) => parseDuration(text) || undefined);

/** Like {@link toDuration}, but `0s` is valid too. */
export const toDurationOrZero = makeParser(`${DURATION_RULE} 0s is valid too.`, parseDuration);

/** The option of the commands that issue a token; milliseconds. */
export const EXPIRES_OPTION = [
  '--expires <duration>',
  'how long the new token is valid: 45s, 30m, 12h, 90d or 2w',
  toDuration,
] as const;

/** The name of a token: it starts with a letter, so it cannot be mistaken for an id. */
export const toTokenName = makeParser(
  'A name starts with a letter and has at most 64 letters, digits and any of ._@-.',
  (text) => (/^[A-Za-z][\w.@-]{0,63}$/.test(text) ? text : undefined),
);

export const toHttpUrl = makeParser(
  'It is not an http or https URL without credentials, query and fragment.',
  parseHttpUrl,
);

export const toTries = makeParser('It is not a whole number from 1 to 99.', (text) =>
  parseWholeNumber(text, 1, 99),
);

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

const toInstant = makeParser(
  'A date is like 2026-11-21, and begins at midnight UTC; a time has a zone: 2026-11-21T13:40Z.',
  (text) => {
    const instant = new Date(text);
    const day = text.slice(0, 'YYYY-MM-DD'.length);
    // JavaScript takes 30 February for 2 March.
    const isDay = () => new Date(day).toISOString().startsWith(day);
    return INSTANT.test(text) && !Number.isNaN(instant.getTime()) && isDay() ? instant : undefined;
  },
);

/** A date of RFC 3339, which is its midnight in UTC, or an instant with a zone; not later than now. */
export function toPastInstant(text: string): Date {
  const [instant, now] = [toInstant(text), new Date()];
  if (instant <= now) return instant;
  throw new InvalidArgumentError(`It is in the future: now it is ${now.toISOString()}.`);
}

/** Makes a parser for commander. @param message why a text is invalid, of which `parse` makes undefined */
function makeParser<Value>(message: string, parse: (text: string) => Value | undefined) {
  return (text: string): Value => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(message);
    return value;
  };
}
