import { Config, VERSION } from './config.js';
import { originOf, textOf } from './read-config.js';
import { ConfigError } from './variable.js';
import { describeStore } from './store-address.js';
import { VARIABLES, type ConfigVariable } from './variable.js';

/** A variable of the configuration, for the operator. */
export interface Setting {
  readonly name: string;
  /** Its text, secrets masked; '' where there is none, undefined where it is invalid, and not to be shown. */
  readonly value: string | undefined;
  /** `default`, `environment`, the file that loadEnvironment() read, or the variable `NAME_FILE`. */
  readonly from: string;
}

/** Every variable of the configuration, in its order. */
export function describeSettings(): Setting[] {
  return VARIABLES.map((variable) => ({
    name: variable.name,
    value: valueOf(variable),
    from: originOf(variable),
  }));
}

/** What this process is and which store it works on, in one line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const node = process.versions.node;
  return `plant-store ${VERSION}, Node.js ${node}, store: ${describeStore(databaseUrl)}`;
}

function valueOf(variable: ConfigVariable): string | undefined {
  try {
    const text = textOf(variable);
    if (!text) return defaultOf(variable);
    if (variable.parser.parse(text) === undefined) return undefined;
    return variable.mask ? variable.mask(text) : text;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** The text that means the default; '' where the default is to have none. */
export function defaultOf({ field, parser }: ConfigVariable): string {
  const value = new Map<string, unknown>(Object.entries(new Config())).get(field);
  if (value === undefined) return '';
  if (parser.format) return parser.format(value);
  // Else it is a list or a record, and empty.
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
