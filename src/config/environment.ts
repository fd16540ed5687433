import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Config, VARIABLES, VERSION, type ConfigVariable } from './config.js';

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

/** The names of the variables that loadEnvironment() has set, and the file that it read. */
let loaded: { readonly names: ReadonlySet<string>; readonly path: string } | undefined;

/**
 * Adds the variables of a file to those of this process, which win.
 *
 * @param file path of the file; `.env` in the working directory, if there is one, if left out
 * @throws ConfigError if the file cannot be read
 */
export function loadEnvironment(file?: string): void {
  const path = file ?? (existsSync('.env') ? '.env' : undefined);
  loaded = undefined;
  if (path === undefined) return;
  const found = parseEnv(readText(path, `${path} cannot be read`));
  loaded = { names: new Set(Object.keys(found).filter((name) => !(name in process.env))), path };
  for (const name of loaded.names) process.env[name] = found[name];
}

/**
 * Reads the configuration from the environment. An empty variable counts as one that is not set.
 *
 * @throws ConfigError
 */
export function readConfig(env = process.env): Config {
  const { config, problems } = inspectConfig(env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/** Reads the configuration as far as it is valid, with every variable in its order and a line for each problem. */
export function inspectConfig(env = process.env) {
  const config = new Config();
  const problems: string[] = [];
  const settings = VARIABLES.map((variable): Setting => {
    const { name, field, parser, defaultText } = variable;
    const from = findSource(variable, env);
    try {
      const text = parser.isSecret ? readSecret(name, env) : env[name];
      if (!text) return { name, value: defaultText, from };
      const value = parser.parse(text);
      if (value === undefined) throw new ConfigError(explainInvalid(variable, text, from));
      Object.assign(config, { [field]: value });
      return { name, value: parser.isSecret ? maskSecret(text) : text, from };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
      return { name, value: undefined, from };
    }
  });
  return { config, settings, problems: [...problems, ...findConflicts(config)] };
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
 * @throws ConfigError if it cannot be read; the message names the variable, not the path
 */
export function readNamedFile(variable: string, path: string): string {
  return readText(path, `${variable} must name a file that can be read`);
}

function readText(path: string, problem: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${problem} (${code})`, { cause: error });
  }
}

function findSource({ name, parser }: ConfigVariable, env: NodeJS.ProcessEnv): string {
  if (parser.isSecret && env[`${name}_FILE`]) return `${name}_FILE`;
  if (!env[name]) return 'default';
  return loaded?.names.has(name) ? loaded.path : 'environment';
}

/** A value that may be shown has no token, and no credentials or query of a URL. */
const SHOWABLE = /^(?!.*(plant_|[?@]))[ -~]{1,80}$/;

/** `PORT must be from 0 to 65535, not "x" (from .env)`; never the value of a secret. */
function explainInvalid({ name, parser }: ConfigVariable, text: string, from: string): string {
  const isShown = !parser.isSecret && SHOWABLE.test(text);
  return `${name} must be ${parser.rule}${isShown ? `, not ${JSON.stringify(text)}` : ''} (from ${from})`;
}

/** Finds problems of several variables together, in a line each. */
function findConflicts(config: Config): string[] {
  const { port, reusePort, databaseUrl, managementPort, tlsCertFile, tlsKeyFile } = config;
  const { authIssuer, authAudience, authJwksUrl } = config;
  const conflicts: Readonly<Record<string, boolean>> = {
    'REUSE_PORT=on needs DATABASE_URL to name PostgreSQL: one service alone writes to a SQLite file':
      reusePort && databaseUrl.startsWith('sqlite:'),
    'REUSE_PORT=on needs a PORT that is not 0: each process would take another one':
      reusePort && port === 0,
    'MANAGEMENT_PORT must not be PORT: health and metrics are not for the public':
      managementPort === port && port !== 0,
    'TLS_CERT_FILE and TLS_KEY_FILE must be set together':
      (tlsCertFile === undefined) !== (tlsKeyFile === undefined),
    'AUTH_AUDIENCE must be set with AUTH_ISSUER: a token for another service would be taken':
      authIssuer !== undefined && authAudience === undefined,
    'AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL':
      authIssuer === undefined && (authAudience ?? authJwksUrl) !== undefined,
  };
  return Object.keys(conflicts).filter((problem) => conflicts[problem]);
}

const MASK = '***';

/** A URL has no user without a host. This host stands for the socket of this machine. */
const NO_HOST = 'no-host.invalid';

/** What this process is and which store it works on, in one line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const node = process.versions.node;
  return `plant-store ${VERSION}, Node.js ${node}, store: ${describeStore(databaseUrl)}`;
}

/**
 * Where a store is, for the operator: the absolute path of its file, or host and database; never a user or a
 * password.
 *
 * @param address as in DATABASE_URL
 */
export function describeStore(address: string): string {
  if (address.startsWith('sqlite:')) return `SQLite ${resolve(address.slice('sqlite:'.length))}`;
  const url = parsePostgresUrl(address);
  if (!url) return 'PostgreSQL';
  const { host, port, database } = Object.fromEntries(url.searchParams);
  const named = url.hostname === NO_HOST ? '' : decodeURIComponent(url.hostname);
  const at = host ?? (named || (process.env.PGHOST ?? 'localhost'));
  const behind = port ?? url.port;
  const name = database ?? decodeURIComponent(url.pathname.slice(1));
  return `PostgreSQL ${at}${behind ? `:${behind}` : ''}, database ${name}`;
}

/**
 * A secret as it may be shown: the address of a store without its password, nothing of anything else. Lists of headers
 * are never taken for an address, as no header's name has a colon.
 */
export function maskSecret(text: string): string {
  if (text.startsWith('sqlite:')) return text;
  const url = parsePostgresUrl(text);
  if (!url) return MASK;
  if (url.password) url.password = MASK;
  for (const name of url.searchParams.keys()) {
    if (/password/i.test(name)) url.searchParams.set(name, MASK);
  }
  return url.href.replace(NO_HOST, '');
}

/**
 * Reads an address as the driver does. Undefined if it is no such URL, or a part of a password could be taken for
 * the database: `postgres://user:1/2@host/plants`.
 */
function parsePostgresUrl(address: string): URL | undefined {
  const url = URL.parse(address.replace(/@(?=[/?])/, `@${NO_HOST}`));
  return url && /^postgres/.test(url.protocol) && /^\/[^@]+$/.test(url.pathname) ? url : undefined;
}
