import { Config } from './config.js';
import { sourceOf } from './environment.js';
import { ConfigError, readSecret, VARIABLES, type ConfigVariable } from './variable.js';

/**
 * Reads the configuration from the environment; a file `.env` is in it by loadEnvironment(). An empty variable
 * counts as one that is not set.
 *
 * @throws ConfigError
 */
export function readConfig(env = process.env): Config {
  const { config, problems } = checkConfig(env);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/** The configuration as far as it is valid, with a line for each problem. */
export function checkConfig(env = process.env): { config: Config; problems: string[] } {
  const config = new Config();
  const problems: string[] = [];
  for (const variable of VARIABLES) {
    try {
      const text = textOf(variable, env);
      if (!text) continue;
      const value = variable.parser.parse(text);
      if (value === undefined) problems.push(describeInvalid(variable, text, env));
      else Object.assign(config, { [variable.field]: value });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(error.message);
    }
  }
  return { config, problems: [...problems, ...crossFieldErrors(config)] };
}

/** @throws ConfigError where the file of a secret cannot be read */
export function textOf({ name, mask }: ConfigVariable, env = process.env): string | undefined {
  return mask ? readSecret(name, env) : env[name];
}

/** Where the value of a variable comes from: `default`, `environment`, a file, or the variable `NAME_FILE`. */
export function originOf({ name, mask }: ConfigVariable, env = process.env): string {
  if (mask && env[`${name}_FILE`]) return `${name}_FILE`;
  return env[name] ? sourceOf(name) : 'default';
}

/** What a value may have to be shown: neither a token, nor what carries credentials and queries in an address. */
const SHOWABLE = /^(?!.*plant_)[ -~]{1,80}$/;

/** `PORT must be from 0 to 65535, not "x" (from .env)`; never the value of a secret. */
function describeInvalid(variable: ConfigVariable, text: string, env: NodeJS.ProcessEnv): string {
  const { name, parser, mask } = variable;
  const isShown = !mask && SHOWABLE.test(text) && !/[@?]/.test(text);
  const value = isShown ? `, not ${JSON.stringify(text)}` : '';
  return `${name} ${parser.must}${value} (from ${originOf(variable, env)})`;
}

/** What two variables together must be: a sentence for the operator, and when it is broken. */
const RULES: readonly (readonly [sentence: string, isBroken: (config: Config) => boolean])[] = [
  [
    'REUSE_PORT=on needs DATABASE_URL to name PostgreSQL: one service alone writes to a SQLite file',
    ({ reusePort, databaseUrl }) => reusePort && databaseUrl.startsWith('sqlite:'),
  ],
  [
    'REUSE_PORT=on needs a PORT that is not 0: each process would take another one',
    ({ reusePort, port }) => reusePort && port === 0,
  ],
  [
    'MANAGEMENT_PORT must not be PORT: health and metrics are not for the public',
    ({ managementPort, port }) => managementPort === port && port !== 0,
  ],
  [
    'TLS_CERT_FILE and TLS_KEY_FILE must be set together',
    ({ tlsCertFile, tlsKeyFile }) => (tlsCertFile === undefined) !== (tlsKeyFile === undefined),
  ],
  [
    'AUTH_AUDIENCE must be set with AUTH_ISSUER: a token for another service would be taken',
    ({ authIssuer, authAudience }) => authIssuer !== undefined && authAudience === undefined,
  ],
  [
    'AUTH_ISSUER must be set with AUTH_AUDIENCE and AUTH_JWKS_URL',
    ({ authIssuer, authAudience, authJwksUrl }) =>
      authIssuer === undefined && (authAudience ?? authJwksUrl) !== undefined,
  ],
];

/** What is wrong between the variables of a configuration, each of which is right by itself. */
function crossFieldErrors(config: Config): string[] {
  return RULES.filter(([, isBroken]) => isBroken(config)).map(([sentence]) => sentence);
}
