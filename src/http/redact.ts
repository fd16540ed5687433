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
  return line.replace(SECRET, '[redacted]');
}

/**
 * 32 characters or more of a token of ours without what it begins with, or of the parts of a JSON Web Token, which are
 * longer and have upper and lower case and digits. Hexadecimal numbers are no secrets.
 */
const OPAQUE =
  /(?![\da-f]+(?![\dA-Za-z]))(?![\dA-F]+(?![\dA-Za-z]))[\dA-Za-z]{32,}|(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?![\da-f-]+(?![\w-]))[\w-]{40,}/g;

/** Takes secrets out of what a client has chosen, a path or an id, however it spells them. */
export function redactChosen(text: string): string {
  return redact(decode(text)).replace(OPAQUE, '[redacted]');
}

/** Decodes what stands for itself (RFC 3986, section 6.2.2.2), however often it was encoded. */
function decode(text: string): string {
  const decoded = text.replace(/%([2-7][\da-f])/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~%-]/.test(character) ? character : escape;
  });
  return decoded === text ? text : decode(decoded);
}
