import { ConfigError } from './config-error.js';
import { readFileOf } from './read-file.js';

/**
 * Reads a secret from its variable, or from the file that `NAME_FILE` names; a line break at the
 * file's end is not the secret's.
 *
 * @throws ConfigError where both are set, or the file cannot be read or is empty
 */
export function readSecret(name: string, env = process.env): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ConfigError(`${name} and ${name}_FILE must not both be set`);
  const secret = readFileOf(`${name}_FILE`, file).replace(/\r?\n$/, '');
  // Not as a variable that is not set: the default would take its place unseen.
  if (secret === '') throw new ConfigError(`${name}_FILE must not name an empty file`);
  return secret;
}
