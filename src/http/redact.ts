const REDACTED = '[redacted]';

/**
 * What could let someone in: a token of ours (also one that was cut), a JSON Web Token, whatever
 * stands behind `Bearer` or `access_token=`, the password of an address.
 */
const SECRET =
  /plant_[\dA-Za-z]{16,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|(?<=\bbearer +|access_token=)[^\s"\\&]+|(?<=:\/\/[^\s"/@:]*:)[^\s"/]+(?=@)/gi;

/**
 * Takes secrets out of a line of the log. None is put there by the service; but a client may take
 * its token for a part of the path, or for the id of a request.
 */
export function redact(line: string): string {
  return line.replace(SECRET, REDACTED);
}

/** Characters that are logged of what a client has chosen. */
const MAX_LENGTH = 256;

/** Letters and digits that may be most of a token, which has 38 of them behind `plant_`, or of a JSON Web Token. */
const MIN_TOKEN_LENGTH = 32;

/** What does not count as a token's: separators, and hexadecimal numbers and UUIDs, in one case of letters. */
const NO_TOKEN = /(?:[\da-f]{4}-?){4,}|(?:[\dA-F]{4}-?){4,}|[^\dA-Za-z]/g;

/**
 * Takes secrets out of what a client has chosen, a path or an id, and returns its first 256 characters. A text that
 * has as many letters and digits as a token, in both cases, is taken out whole: a token may be split in any way.
 */
export function redactChosen(text: string): string {
  const decoded = decode(text.slice(0, 3 * MAX_LENGTH));
  const rest = decoded.replace(NO_TOKEN, '');
  const mayBeToken = rest.length >= MIN_TOKEN_LENGTH && /[a-z]/.test(rest) && /[A-Z]/.test(rest);
  return mayBeToken ? REDACTED : redact(decoded).slice(0, MAX_LENGTH);
}

/** Decodes what stands for itself (RFC 3986, section 6.2.2.2), however often it was encoded. */
function decode(text: string): string {
  const decoded = text.replace(/%([2-7][\da-f])/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~%-]/.test(character) ? character : escape;
  });
  return decoded === text ? text : decode(decoded);
}
