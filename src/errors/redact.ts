/** Tokens of the service, also cut ones, JSON Web Tokens, text after `Bearer` or `access_token=`, passwords of URLs. */
const SECRET =
  /plant_[\dA-Za-z]{16,}|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?|(?<=\bbearer +|access_token=)[^\s"\\&]+|(?<=:\/\/[^\s"/@:]*:)[^\s"/]+(?=@)/gi;

/** Removes secrets from a line of the log, or from a text that a client has chosen. */
export function redact(text: string): string {
  return text.replace(SECRET, '[redacted]');
}
