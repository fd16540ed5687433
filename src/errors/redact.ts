// Makes a text of others safe for a line of a log or of a terminal.

/** Terminals obey these characters, or write in another direction behind them. Line breaks are among them. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes control characters as in JSON: on a terminal they could hide or forge a line. */
export function escapeControls(text: string): string {
  return text.replace(
    CONTROL_CHARACTERS,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`,
  );
}

/** Escapes the control characters of each line. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

const SECRETS = [
  // A token of the service has this form, whole or cut.
  /plant_[\dA-Za-z]{16,}/,
  // A JSON Web Token may stand behind other text. Each word is searched once, as a client may send thousands of `eyJ`.
  /((?<![\w-])(?=[\w-]*\.[\w-])[\w-]*?)eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/,
  // Any token may follow these words. No blanks are searched backwards, as a client may send thousands of them too.
  /(\bbearer +|access_token=)[^\s"\\&]+/,
  // A URL has its password here.
  /(?<=:\/\/[^\s"/@:]*:)[^\s"/]+(?=@)/,
];
const SECRET = new RegExp(SECRETS.map(({ source }) => source).join('|'), 'gi');

/** Removes secrets from a line of the log, or from a text that a client has chosen. */
export function redact(text: string): string {
  return text.replace(SECRET, '$1$2[redacted]');
}
