// Reads the configuration from the environment and the file `.env`.
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Config, describeUser, VARIABLES, VERSION, type ConfigVariable } from './config.js';
import { describeDatabase, findPathProblem } from './database-url.js';

/** Invalid configuration. The message lists every variable at fault, and never a secret. */
export class ConfigError extends Error {}

/** What loadEnvironment() did. */
let loaded: { path: string; names: ReadonlySet<string>; warnings: readonly string[] } | undefined;

/** Adds the variables of a file to those of this process, which win. Returns warnings. @throws ConfigError */
export function loadEnvironment(file?: string): readonly string[] {
  const path = file ?? '.env';
  loaded = undefined;
  if (file === undefined && !existsSync(path)) return [];
  const { variables, warnings } = parseEnvFile(readText('--env-file', path));
  const isFree = (name: string) => !listForms(name).some((form) => process.env[form]);
  const names = new Set([...variables.keys()].filter(isFree));
  for (const name of names) process.env[name] = variables.get(name);
  loaded = { path, names, warnings: warnings.map((warning) => `${path}:${warning}`) };
  return loaded.warnings;
}

/** Variables whose text may be in the file that `NAME_FILE` names; `import` reads its token itself. */
const SECRETS = [
  'PLANT_STORE_TOKEN',
  ...VARIABLES.filter(({ parser }) => parser.mask).map(({ name }) => name),
];

/** The names of a variable: a secret has two, for its text and for the file that `NAME_FILE` names. */
function listForms(name: string): readonly string[] {
  const secret = name.replace(/_FILE$/, '');
  return SECRETS.includes(secret) ? [secret, `${secret}_FILE`] : [name];
}

/** Reads `NAME=value` lines. Node's parseEnv() would take a byte order mark, or U+00A0, for a part of a name. */
export function parseEnvFile(text: string) {
  const variables = new Map<string, string>();
  const warnings: string[] = [];
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const [left = '', ...right] = line.split('=');
    const name = left.trim().replace(/^export\s+/, '');
    const value = right.join('=').trim();
    const problem = right.length === 0 ? 'ignored, as it has no =' : findEntryProblem(name, value);
    if (problem) warnings.push(`${index + 1}: ${problem}`);
    if (right.length > 0) variables.set(name, parseEnv(`X=${value}`).X ?? '');
  }
  return { variables, warnings };
}

/** Variables that others read: the driver, Node.js, a shell, and `import`. */
const OTHER_VARIABLES = /^((PG|NODE_TLS_|SSL_|LC_|PLANT_STORE_)\w+|GIT_COMMIT|LANG|PATH|TZ)$/;

/** Node.js, libuv and config.ts read them at once. */
const EARLY_VARIABLES = /^(NODE_(?!ENV$|TLS_)\w+|UV_\w+|PLANT_STORE_COMMAND)$/;

/** Other names may be a part of a key. */
const PRINTABLE_NAME = /^[A-Z_]{1,40}$/;

function findEntryProblem(name: string, value: string): string | undefined {
  if (EARLY_VARIABLES.test(name))
    return `${name} works only in the environment, which is read first`;
  const isKnown = VARIABLES.some((variable) => listForms(variable.name).includes(name));
  if (!isKnown && !OTHER_VARIABLES.test(name))
    return `${PRINTABLE_NAME.test(name) ? name : 'the name'} is unknown`;
  return /^(["'`])(?!.*\1)/.test(value) ? 'the quote is not closed' : undefined;
}

/** Reads the configuration; an empty variable counts as one that is not set. @throws ConfigError */
export function readConfig(env = process.env): Config {
  const { config, problems } = inspectConfig(env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/** Reads the configuration as far as it is valid, with its variables in order, problems, and loadEnvironment()'s warnings. */
export function inspectConfig(env = process.env) {
  const config = new Config();
  const problems: string[] = [];
  const settings = VARIABLES.map((variable) => {
    const { name, field, parser, defaultText } = variable;
    const from = findSource(variable, env);
    try {
      const text = parser.mask ? readSecret(name, env) : env[name];
      if (!text) return { name, value: defaultText, from };
      const value = parser.parse(text);
      const problem =
        value === undefined ? explainInvalid(variable, text) : parser.findProblem?.(value);
      if (problem) throw new ConfigError(`${problem} (from ${from})`);
      Object.assign(config, { [field]: value });
      return { name, value: parser.mask?.(text) ?? text, from };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
      return { name, value: undefined, from };
    }
  });
  // A conflict with the default of an invalid variable is none.
  if (problems.length === 0) problems.push(...crossFieldErrors(config));
  return { config, settings, problems, warnings: loaded?.warnings ?? [] };
}

/** Reads a secret from its variable, or the file that `NAME_FILE` names. @throws ConfigError if both are set */
export function readSecret(name: string, env = process.env): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ConfigError(`${name} and ${name}_FILE must not both be set`);
  const secret = readText(`${name}_FILE`, file).replace(/\r?\n$/, '');
  if (secret === '') throw new ConfigError(`${name}_FILE must not name an empty file`);
  return secret;
}

/** Reads the file that a variable or an option names. @throws ConfigError with its path, unless that may be a secret */
export function readNamedFile(variable: string, path: string): string {
  const problem = findPathProblem(variable, path);
  if (problem) throw new ConfigError(problem);
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const shown = PRINTABLE_VALUE.test(path) ? `: ${path}` : '';
    const user = code === 'EACCES' ? `, as user ${describeUser()}` : '';
    const message = `${variable} must name a file that can be read${shown} (${code}${user})`;
    throw new ConfigError(message, { cause });
  }
}

/** Reads a file in UTF-8: one in another encoding has these characters once it is decoded. */
function readText(variable: string, path: string): string {
  const text = readNamedFile(variable, path);
  if (/[\0\uFFFD]/.test(text)) throw new ConfigError(`${variable} must name a file in UTF-8`);
  return text;
}

function findSource({ name, parser }: ConfigVariable, env: NodeJS.ProcessEnv): string {
  if (parser.mask && env[`${name}_FILE`]) return `${name}_FILE`;
  if (!env[name]) return 'default';
  return loaded?.names.has(name) ? loaded.path : 'environment';
}

/** Matches a value without a token, or the credentials or the query of a URL. */
const PRINTABLE_VALUE = /^(?!.*(plant_|[?@]))[ -~]{1,80}$/;

/** `PORT must be from 0 to 65535, not "x"`; never the value of a secret. */
function explainInvalid({ name, parser }: ConfigVariable, text: string): string {
  const isShown = !parser.mask && PRINTABLE_VALUE.test(text);
  return `${name} must be ${parser.rule}${isShown ? `, not ${JSON.stringify(text)}` : ''}`;
}

/** Finds errors that involve several variables. */
function crossFieldErrors(config: Config): string[] {
  const { port, managementPort, tlsCertFile, tlsKeyFile } = config;
  const { authIssuer, authAudience, authJwksUrl } = config;
  const found: string[] = [];
  if (managementPort === port && port !== 0)
    found.push('MANAGEMENT_PORT must not be PORT: health and metrics are not for the public');
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    found.push('TLS_CERT_FILE and TLS_KEY_FILE must be set together');
  if (authIssuer && !authAudience)
    found.push('AUTH_AUDIENCE must be set with AUTH_ISSUER: tokens of other services would pass');
  if (!authIssuer && (authAudience ?? authJwksUrl))
    found.push('AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL');
  return found;
}

/** One line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const program = `plant-store ${VERSION}, Node.js ${process.versions.node}`;
  return `${program}, store: ${describeDatabase(databaseUrl)}`;
}
