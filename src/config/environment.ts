// Reads the configuration from the environment and the file `.env`.
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { closestMatch } from 'leven';
import { Config, describeDenied, VARIABLES, VERSION, type Variable } from './config.js';
import { describeDatabase } from './database-url.js';

/** Invalid configuration. The message lists every variable at fault, and never a secret. */
export class ConfigError extends Error {}

/** What loadEnvironment() did. */
let loaded: { path: string; names: ReadonlySet<string>; warnings: readonly string[] } | undefined;

/** Adds the variables of a file to those of this process, which win. Returns warnings. @throws ConfigError */
export function loadEnvironment(file?: string): readonly string[] {
  const path = file ?? '.env';
  loaded = undefined;
  if (file === undefined && !existsSync(path)) return [];
  const text = readNamedFile(file === undefined ? path : '--env-file', path);
  const { variables, warnings } = parseEnvFile(text);
  const isFree = (name: string) => !listForms(name).some((form) => process.env[form]);
  const names = new Set([...variables.keys()].filter(isFree));
  for (const name of names) process.env[name] = variables.get(name);
  loaded = { path, names, warnings: warnings.map((warning) => `${path}:${warning}`) };
  return loaded.warnings;
}

/** Variables whose text may be in the file that `NAME_FILE` names; `import` reads its token itself. */
const SECRETS = ['PLANT_STORE_TOKEN'];
for (const { name, parser } of Object.values(VARIABLES)) if (parser.mask) SECRETS.push(name);

/** The names of a variable: a secret has two, for its text and for the file that `NAME_FILE` names. */
function listForms(name: string): readonly string[] {
  const secret = name.replace(/_FILE$/, '');
  return SECRETS.includes(secret) ? [secret, `${secret}_FILE`] : [name];
}

/** Variables that `import`, the PostgreSQL driver and Node.js read. Node.js reads others before it loads this file. */
const OTHER_NAMES = /^(PLANT_STORE_URL|PG\w+|NODE_TLS_\w+|SSL_\w+|TZ)$/;
const NAMES = Object.values(VARIABLES).map(({ name }) => name);
const OWN_NAMES = [...SECRETS, ...NAMES].flatMap(listForms);

/** Reads `NAME=value` lines. Node's parseEnv() would take a byte order mark, or U+00A0, for a part of a name. */
export function parseEnvFile(text: string) {
  const variables = new Map<string, string>();
  const warnings: string[] = [];
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const [, name, value = ''] = /^(?:export\s+)?(\w+)\s*=([^]*)/.exec(line.trim()) ?? [];
    const isKnown = name !== undefined && (OWN_NAMES.includes(name) || OTHER_NAMES.test(name));
    if (variables.has(name ?? ''))
      warnings.push(`${index + 1}: ${name} is set above too: this line wins`);
    if (isKnown) variables.set(name, parseEnv(`X=${value.trim()}`).X ?? '');
    else if (name === undefined) warnings.push(`${index + 1}: ignored, as it has no NAME=value`);
    else warnings.push(`${index + 1}: ${describeUnknown(name)}`);
  }
  return { variables, warnings };
}

function describeUnknown(name: string): string {
  // Another name may be a part of a key.
  if (!/^[A-Z_]{1,40}$/.test(name)) return 'the name is unknown, or works only in the environment';
  const meant = closestMatch(name, OWN_NAMES, { maxDistance: 2 });
  if (meant !== undefined) return `${name} is unknown: did you mean ${meant}?`;
  return `${name} is unknown, or works only in the environment`;
}

/** Reads the configuration; an empty variable counts as one that is not set. @throws ConfigError */
export function readConfig(env = process.env): Config {
  const { config, problems } = inspectConfig(env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/** Variables of which none has a meaning alone; without an audience, tokens for other services would pass. */
const PAIRS = [
  ['TLS_CERT_FILE', 'TLS_KEY_FILE'],
  ['AUTH_ISSUER', 'AUTH_AUDIENCE'],
] as const;

/** Node.js itself says so on stderr alone, and only at the first connection. */
const UNVERIFIED =
  'NODE_TLS_REJECT_UNAUTHORIZED is 0: no certificate of a database or an identity provider is verified, whatever sslmode says; add an authority by sslrootcert or NODE_EXTRA_CA_CERTS instead';

/** `docker run --env-file` and Kubernetes keep the quotes of a file. */
const QUOTED = /^["'`].|.["'`]$/s;

/** Reads the configuration as far as it is valid, with its variables in order, problems, and warnings. */
export function inspectConfig(env = process.env) {
  const config = new Config();
  const problems: string[] = [];
  const settings = Object.entries<Variable<unknown>>(VARIABLES).map(([field, variable]) => {
    const { name, parser, defaultText } = variable;
    const from = findSource(variable, env);
    try {
      const text = parser.mask ? readSecret(name, env) : env[name];
      if (!text) return { name, value: defaultText, from };
      if (QUOTED.test(text))
        throw new ConfigError(`${name} must not begin or end with a quote (from ${from})`);
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
  for (const [one, other] of PAIRS)
    if (!env[one] !== !env[other]) problems.push(`${one} and ${other} must be set together`);
  // Other clashes, as with a name or 0.0.0.0, show when the service listens.
  const isSameHost = config.host === config.managementHost;
  if (isSameHost && config.port === config.managementPort && config.port > 0)
    problems.push('MANAGEMENT_PORT must not be PORT on the same host');
  if (config.authJwksUrl && !env.AUTH_ISSUER) problems.push('AUTH_JWKS_URL needs AUTH_ISSUER');
  const warnings = [...(loaded?.warnings ?? [])];
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') warnings.push(UNVERIFIED);
  return { config, settings, problems, warnings };
}

/** Reads a secret from its variable, or the file that `NAME_FILE` names. @throws ConfigError if both are set */
export function readSecret(name: string, env = process.env): string | undefined {
  const file = env[`${name}_FILE`];
  if (!file) return env[name];
  if (env[name]) throw new ConfigError(`${name} and ${name}_FILE must not both be set`);
  const secret = readNamedFile(`${name}_FILE`, file).replace(/\r?\n$/, '');
  if (secret === '') throw new ConfigError(`${name}_FILE must not be an empty file`);
  return secret;
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Reads the file that a variable or an option names. @throws ConfigError with its path, unless that may be a secret */
export function readNamedFile(variable: string, path: string): string {
  try {
    return UTF_8.decode(readFileSync(path));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const shown = PRINTABLE_VALUE.test(path) ? `: ${path}` : '';
    const reason = `(${code}${describeDenied(code)})`;
    const message = `${variable} must be a readable file in UTF-8${shown} ${reason}`;
    throw new ConfigError(message, { cause });
  }
}

function findSource({ name, parser }: Variable<unknown>, env: NodeJS.ProcessEnv): string {
  if (parser.mask && env[`${name}_FILE`]) return `${name}_FILE`;
  if (!env[name]) return 'default';
  return loaded?.names.has(name) ? loaded.path : 'environment';
}

/** Matches a value without a token, or the credentials or the query of a URL. */
const PRINTABLE_VALUE = /^(?!.*(plant_|[?@]))[ -~]{1,80}$/;

/** `PORT must be from 0 to 65535, not "x"`; never the value of a secret. */
function explainInvalid({ name, parser }: Variable<unknown>, text: string): string {
  const isShown = !parser.mask && PRINTABLE_VALUE.test(text);
  return `${name} must be ${parser.rule}${isShown ? `, not ${JSON.stringify(text)}` : ''}`;
}

/** One line for the operator, without a password. */
export function describeProcess({ databaseUrl }: Config): string {
  const program = `plant-store ${VERSION}, Node.js ${process.versions.node}`;
  return `${program}, store: ${describeDatabase(databaseUrl)}`;
}
