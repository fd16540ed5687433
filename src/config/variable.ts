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
