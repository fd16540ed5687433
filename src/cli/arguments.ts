import { InvalidArgumentError, type Command } from 'commander';
import { ConfigError } from '../config/environment.js';
import { parseDuration } from '../config/parsers.js';

const DAY = /^\d{4}-\d\d-\d\d$/;
const INSTANT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

const DURATION = 'A duration is a whole number and s, m, h, d or w, such as 90d.';

/** A duration, in milliseconds. */
export const duration = argument(parseDuration, DURATION);

/** A duration that may be `0s`. */
export const durationOrZero = argument(
  (text) => (text === '0s' ? 0 : parseDuration(text)),
  DURATION,
);

/**
 * A date or an instant of ISO 8601, as RFC 3339 has them: `2026-11-21`, whose midnight in UTC is meant, or
 * `2026-11-21T13:40:00Z`, with or without seconds. A time without a zone could mean any.
 */
export const instant = argument((text) => {
  const day = DAY.test(text) ? text : INSTANT.exec(text)?.[1];
  // JavaScript would take 30 February for 2 March.
  if (day === undefined || !isValid(day) || !new Date(day).toISOString().startsWith(day)) return;
  return isValid(text) ? new Date(text) : undefined;
}, 'A date is like 2026-11-21, and begins at midnight UTC; a time has a zone: 2026-11-21T13:40Z.');

export const httpUrl = argument((text) => {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}, 'It is not an http or https URL.');

const NAME = /^[A-Za-z][\w.@-]{0,63}$/;

/** The name of a token: it starts with a letter, and so is never taken for an id. */
export const tokenName = argument(
  (text) => (NAME.test(text) ? text : undefined),
  'A name starts with a letter and has at most 64 letters, digits and any of ._@-.',
);

/** A number from 1 to `max`. */
export function wholeNumber(max: number): (text: string) => number {
  return argument((text) => {
    const number = Number(text);
    return /^\d+$/.test(text) && number >= 1 && number <= max ? number : undefined;
  }, `It is not a whole number from 1 to ${max}.`);
}

function isValid(time: string): boolean {
  return !Number.isNaN(Date.parse(time));
}

/** Makes a parser for commander of one that returns undefined where the text is bad. */
function argument<Value>(parse: (text: string) => Value | undefined, message: string) {
  return (text: string): Value => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(message);
    return value;
  };
}

/** For what commander's own parsers would repeat in a message: a ConfigError, which never does, is bad usage. */
export function asUsageError<Value>(command: Command, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) command.error(`error: ${error.message}`);
    throw error;
  }
}
