const REDACTED = '[redacted]';

/** Tokens of the service, also cut ones, JSON Web Tokens, text after `Bearer` or `access_token=`, passwords of URLs. */
const SECRET =
  /plant_[\dA-Za-z]{16,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|(?<=\bbearer +|access_token=)[^\s"\\&]+|(?<=:\/\/[^\s"/@:]*:)[^\s"/]+(?=@)/gi;

/** Removes secrets from a line of the log. A client may put its token into the path, or into the id of a request. */
export function redact(line: string): string {
  return line.replace(SECRET, REDACTED);
}

/** Longest text of a client in the log. */
const MAX_LENGTH = 256;

/** So many letters and digits may be most of a token, which has 38 after `plant_`, or of a JSON Web Token. */
const MIN_TOKEN_LENGTH = 32;

/** Not counted as parts of a token: separators, and hexadecimal numbers and UUIDs, in one case of letters. */
const NO_TOKEN = /(?:[\da-f]{4}-?){4,}|(?:[\dA-F]{4}-?){4,}|[^\dA-Za-z]/g;

/**
 * Removes secrets from a path or an id that a client has chosen, and returns its first {@link MAX_LENGTH} characters. A
 * text with as many letters and digits as a token, in both cases, is removed whole: a token may be split in any way.
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
