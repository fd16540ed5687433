import type { EnvParser } from './env-parsers.js';

interface Variable {
  readonly name: string;
  /** The field of the configuration that it sets. */
  readonly field: string;
  readonly parser: EnvParser<unknown>;
  /** Whether it may also be read from the file that `NAME_FILE` names, since it holds a secret. */
  readonly isSecret: boolean;
}

/** Every environment variable that the service reads, in the order of the configuration's fields. */
export const VARIABLES: Variable[] = [];

/** The environment variable that sets a field of the configuration. */
export function Variable(name: string, parser: EnvParser<unknown>): PropertyDecorator {
  return (_target, field) =>
    void VARIABLES.push({ name, field: String(field), parser, isSecret: false });
}

/** The same for a secret, which others could read in the environment: a file can hold it too. */
export function SecretVariable(name: string, parser: EnvParser<unknown>): PropertyDecorator {
  return (_target, field) =>
    void VARIABLES.push({ name, field: String(field), parser, isSecret: true });
}
