import type { Config } from './config.js';

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
export function brokenRules(config: Config): string[] {
  return RULES.filter(([, isBroken]) => isBroken(config)).map(([sentence]) => sentence);
}
