import { InvalidArgumentError } from 'commander';
import { parseDuration, parseHttpUrl } from '../config/parsers.js';

const DURATION_RULE =
  'A duration is a whole number from 1 to 99999 and s, m, h, d or w, such as 90d.';

/** Milliseconds of a duration such as `90d`, more than 0. */
export const toDuration = makeParser(DURATION_RULE, (text) => parseDuration(text) || undefined);

/** Like {@link toDuration}, but `0s` is valid too. */
export const toDurationOrZero = makeParser(`${DURATION_RULE} 0s is valid too.`, parseDuration);

/** The name of a token: it starts with a letter, so it cannot be mistaken for an id. */
export const toTokenName = makeParser(
  'A name starts with a letter and has at most 64 letters, digits and any of ._@-.',
  (text) => (/^[A-Za-z][\w.@-]{0,63}$/.test(text) ? text : undefined),
);

export const toHttpUrl = makeParser(
  'It is not an http or https URL without credentials, query and fragment.',
  parseHttpUrl,
);

/** Makes a parser for commander. @param message why a text is invalid, of which `parse` makes undefined */
function makeParser<Value>(message: string, parse: (text: string) => Value | undefined) {
  return (text: string): Value => {
    const value = parse(text);
    if (value === undefined) throw new InvalidArgumentError(message);
    return value;
  };
}
