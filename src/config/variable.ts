import { readFileSync } from 'node:fs';
import type { EnvParser } from './env-parsers.js';
import { MASK } from './store-address.js';

export interface ConfigVariable {
  readonly name: string;
  /** The field of the configuration that it sets. */
  readonly field: string;
  readonly parser: EnvParser<unknown>;
  /** How a secret is shown. One may also be read from the file that `NAME_FILE` names. */
  readonly mask?: (text: string) => string;
}

/** Every environment variable that the service reads, in the order of the configuration's fields. */
export const VARIABLES: ConfigVariable[] = [];

/** The environment variable that sets a field of the configuration. */
export function Variable(name: string, parser: EnvParser<unknown>): PropertyDecorator {
  return (_target, field) => void VARIABLES.push({ name, field: String(field), parser });
}

/** The same for a secret, which others could read in the environment: a file can hold it too. */
export function SecretVariable(
  name: string,
  parser: EnvParser<unknown>,
  mask: (text: string) => string = () => MASK,
): PropertyDecorator {
  return (_target, field) => void VARIABLES.push({ name, field: String(field), parser, mask });
}

/** Invalid configuration; the message lists every variable at fault, and never a secret. */
export class ConfigError extends Error {}

/**
 * Reads the text of the file that a variable names.
 *
 * @throws ConfigError where it cannot be read; the message has the variable, and not the path
 */
export function readFileOf(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${variable} must name a file that can be read (${code})`);
  }
}

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
