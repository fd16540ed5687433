import { InvalidArgumentError } from 'commander';
import { parseDuration, parseHttpUrl, parseWholeNumber } from '../config/parsers.js';

/** The option of the commands that issue a token; milliseconds. */
export const EXPIRES_OPTION = [
  '--expires <duration>',
  'how long the new token is valid: 45s, 30m, 12h, 90d or 2w',
  toDuration,
] as const;

const DURATION_RULE =
  'A duration is a whole number from 1 to 99999 and s, m, h, d or w, such as 90d.';

/** Milliseconds of a duration such as `90d`, more than 0. */
export function toDuration(text: string): number {
  return requireValid(parseDuration(text) || undefined, DURATION_RULE);
}

/** Like {@link toDuration}, but `0s` is valid too. */
export function toDurationOrZero(text: string): number {
  return requireValid(parseDuration(text), `${DURATION_RULE} 0s is valid too.`);
}

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

/** A date of RFC 3339, which is its midnight in UTC, or an instant with a zone; not later than now. */
export function toPastInstant(text: string): Date {
  const [instant, now] = [new Date(text), new Date()];
  const isTime = INSTANT.test(text) && !Number.isNaN(instant.getTime());
  const day = text.slice(0, 'YYYY-MM-DD'.length);
  // JavaScript takes 30 February for 2 March.
  const isDay = isTime && new Date(day).toISOString().startsWith(day);
  requireValid(
    isDay || undefined,
    'A date is like 2026-11-21, and begins at midnight UTC; a time has a zone: 2026-11-21T13:40Z.',
  );
  return requireValid(
    instant > now ? undefined : instant,
    `It is in the future: now it is ${now.toISOString()}.`,
  );
}

/** The name of a token: it starts with a letter, so it cannot be mistaken for an id. */
export function toTokenName(text: string): string {
  return requireValid(
    /^[A-Za-z][\w.@-]{0,63}$/.test(text) ? text : undefined,
    'A name starts with a letter and has at most 64 letters, digits and any of ._@-.',
  );
}

export function toHttpUrl(text: string): URL {
  return requireValid(
    parseHttpUrl(text),
    'It is not an http or https URL without credentials, query and fragment.',
  );
}

export function toTries(text: string): number {
  return requireValid(parseWholeNumber(text, 1, 99), 'It is not a whole number from 1 to 99.');
}

function requireValid<Value>(value: Value | undefined, message: string): Value {
  if (value === undefined) throw new InvalidArgumentError(message);
  return value;
}
