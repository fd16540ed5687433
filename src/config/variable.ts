import type { Kind } from './kinds.js';

interface Variable {
  readonly name: string;
  /** The field of the configuration that it sets. */
  readonly field: string;
  readonly kind: Kind<unknown>;
  /** Whether it may also be read from the file that `NAME_FILE` names, since it holds a secret. */
  readonly isSecret: boolean;
}

/** Every environment variable that the service reads, in the order of the configuration's fields. */
export const VARIABLES: Variable[] = [];

/** The environment variable that sets a field of the configuration. */
export function Variable(name: string, kind: Kind<unknown>): PropertyDecorator {
  return (_target, field) =>
    void VARIABLES.push({ name, field: String(field), kind, isSecret: false });
}

/** The same for a secret, which others could read in the environment: a file can hold it too. */
export function SecretVariable(name: string, kind: Kind<unknown>): PropertyDecorator {
  return (_target, field) =>
    void VARIABLES.push({ name, field: String(field), kind, isSecret: true });
}
