// Reads the configuration from the environment and a file.
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { parseEnv } from 'node:util';
import { Config, VARIABLES, VERSION, type ConfigVariable } from './config.js';
import { describeDatabase, findAddressProblems } from './database-url.js';

/** Invalid configuration. The message lists every variable at fault, and never a secret. */
export class ConfigError extends Error {}

/** A variable of the configuration, for the operator. */
export interface Setting {
  readonly name: string;
  /** Its text, secrets masked; '' if there is none, undefined if it is invalid. */
  readonly value: string | undefined;
  /** `default`, `environment`, the file that loadEnvironment() read, or the variable `NAME_FILE`. */
  readonly from: string;
}

/** What loadEnvironment() did, for findSource() and inspectConfig(): the variables that it set, its file, its warnings. */
let loaded:
  | { readonly names: ReadonlySet<string>; readonly path: string; readonly warnings: string[] }
  | undefined;

/**
 * Adds the variables of a file to those of this process, which win.
 *
 * @param file path of the file; `.env` in the working directory, if there is one, if left out
 * @returns a line for each line of the file that is ignored
 * @throws ConfigError if the file cannot be read
 */
export function loadEnvironment(file?: string): readonly string[] {
  const path = file ?? (existsSync('.env') ? '.env' : undefined);
  loaded = undefined;
  if (path === undefined) return [];
  const text = readText(path, `${path} cannot be read`);
  const found = parseEnv(text);
  const names = new Set(Object.keys(found).filter((name) => !(name in process.env)));
  const warnings = findIgnoredLines(text).map((line) => `${path}:${line}`);
  loaded = { names, path, warnings };
  for (const name of names) process.env[name] = found[name];
  return warnings;
}

/** Variables that others read: the driver, OpenTelemetry, Node.js, a shell, and `import`. */
const FOREIGN = /^(PG|OTEL_|NODE_|UV_|SSL_|LC_|PLANT_STORE_|GIT_COMMIT$|LANG$|PATH$|TZ$)/;

/** Finds the lines of a file that set nothing, or a variable that nobody reads. Values are not shown. */
function findIgnoredLines(text: string): string[] {
  const known = VARIABLES.flatMap(({ name, parser }) =>
    parser.mask ? [name, `${name}_FILE`] : name,
  );
  // A value in quotes may have several lines.
  const quoted = /(?<==[ \t]*)(["'`])[^]*?\1/g;
  const lines = text.replace(quoted, (value) => value.replace(/[^\n]/g, '')).split('\n');
  return lines.flatMap((line, index) => {
    if (/^\s*([#;]|$)/.test(line)) return [];
    const [, name] = /^\s*(?:export\s+)?([^=]*?)\s*=/.exec(line) ?? [];
    const at = index + 1;
    if (name === undefined) return `${at}: ignored, as it has no =`;
    if (known.includes(name) || FOREIGN.test(name)) return [];
    // Other texts may be a part of a key.
    const shown = /^[A-Z_]{1,40}$/.test(name) ? name : 'the name';
    return `${at}: ${shown} is unknown`;
  });
}

/** Reads the configuration; an empty variable counts as one that is not set. @throws ConfigError */
export function readConfig(env = process.env): Config {
  const { config, problems } = inspectConfig(env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/**
 * Reads the configuration as far as it is valid, with every variable in its order, a line for each problem, and one for
 * each line of the environment file that is ignored.
 */
export function inspectConfig(env = process.env) {
  const config = new Config();
  const problems: string[] = [];
  const settings = VARIABLES.map((variable): Setting => {
    const { name, field, parser, defaultText } = variable;
    const from = findSource(variable, env);
    try {
      const text = parser.mask ? readSecret(name, env) : env[name];
      if (!text) return { name, value: defaultText, from };
      const value = parser.parse(text);
      if (value === undefined) throw new ConfigError(explainInvalid(variable, text, from));
      Object.assign(config, { [field]: value });
      return { name, value: parser.mask?.(text) ?? text, from };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
      return { name, value: undefined, from };
    }
  });
  // A conflict with the default of an invalid variable is none.
  if (problems.length === 0) problems.push(...findConflicts(config));
  return { config, settings, problems, warnings: loaded?.warnings ?? [] };
}

/**
 * Reads a secret from its variable, or from the file that `NAME_FILE` names. A line break at the end of the file is
 * not part of the secret.
 *
 * @throws ConfigError if both are set, or the file cannot be read or is empty
 */
export function readSecret(name: string, env = process.env): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ConfigError(`${name} and ${name}_FILE must not both be set`);
  const secret = readNamedFile(`${name}_FILE`, file).replace(/\r?\n$/, '');
  // The default would take its place unnoticed.
  if (secret === '') throw new ConfigError(`${name}_FILE must not name an empty file`);
  return secret;
}

/**
 * Reads the text of the file that a variable names.
 *
 * @throws ConfigError if it cannot be read; the path is shown unless it may be the secret itself
 */
export function readNamedFile(variable: string, path: string): string {
  const shown = SHOWABLE.test(path) ? `: ${path}` : '';
  return readText(path, `${variable} must name a file that can be read${shown}`);
}

function readText(path: string, problem: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const user = code === 'EACCES' ? `, as user ${findUser()}` : '';
    throw new ConfigError(`${problem} (${code}${user})`, { cause: error });
  }
}

/** Finds the user of this process; undefined if it has no name, as in some containers. */
export function findUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

function findSource({ name, parser }: ConfigVariable, env: NodeJS.ProcessEnv): string {
  if (parser.mask && env[`${name}_FILE`]) return `${name}_FILE`;
  if (!env[name]) return 'default';
  return loaded?.names.has(name) ? loaded.path : 'environment';
}

/** Matches a value without a token, or the credentials or the query of a URL. */
const SHOWABLE = /^(?!.*(plant_|[?@]))[ -~]{1,80}$/;

/** `PORT must be from 0 to 65535, not "x" (from .env)`; never the value of a secret. */
function explainInvalid({ name, parser }: ConfigVariable, text: string, from: string): string {
  const isShown = !parser.mask && SHOWABLE.test(text);
  return `${name} must be ${parser.rule}${isShown ? `, not ${JSON.stringify(text)}` : ''} (from ${from})`;
}

/** Finds problems of several variables together, in a line each. */
function findConflicts(config: Config): string[] {
  const { port, managementPort, authIssuer, authAudience, authJwksUrl } = config;
  const found = findAddressProblems(config.databaseUrl);
  if (managementPort === port && port !== 0)
    found.push('MANAGEMENT_PORT must not be PORT: health and metrics are not for the public');
  if ((config.tlsCertFile === undefined) !== (config.tlsKeyFile === undefined))
    found.push('TLS_CERT_FILE and TLS_KEY_FILE must be set together');
  if (authIssuer !== undefined && authAudience === undefined)
    found.push(
      'AUTH_AUDIENCE must be set with AUTH_ISSUER: a token for another service would be taken',
    );
  if (authIssuer === undefined && (authAudience ?? authJwksUrl) !== undefined)
    found.push('AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL');
  return found;
}

/** Describes this process and the database that it uses in one line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const node = process.versions.node;
  return `plant-store ${VERSION}, Node.js ${node}, store: ${describeDatabase(databaseUrl)}`;
}
