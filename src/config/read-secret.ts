import { readFileSync } from 'node:fs';
import { ConfigError } from './config-error.js';

/**
 * Reads a secret from its variable, or from the file that `NAME_FILE` names; a line break at the
 * file's end is not the secret's.
 *
 * @throws ConfigError where both are set, or the file cannot be read or is empty
 */
export function readSecret(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ConfigError(`${name} and ${name}_FILE must not both be set`);
  const secret = read(name, file);
  // Not as a variable that is not set: the default would take its place unseen.
  if (secret === '') throw new ConfigError(`${name}_FILE must not name an empty file`);
  return secret;
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${name}_FILE must name a file that can be read (${code})`);
  }
}
