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
