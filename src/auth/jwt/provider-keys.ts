import { createLocalJWKSet, type JSONWebKeySet, type LocalJWKSet } from 'jose';
import type { Config } from '../../config/config.js';
import { isSecure } from '../../config/address-parsers.js';
import { fetchJson } from './fetch-json.js';

/** Milliseconds that the provider has for the discovery document and the keys together. */
const PATIENCE = 5_000;

/** What of the configuration tells where the keys are. */
export type KeySource = Pick<Config, 'authIssuer' | 'authJwksUrl'>;

/**
 * The identity provider's JSON Web Key Set (RFC 7517, section 5) as it is now.
 *
 * @throws Error in words for the operator where it cannot be had
 */
export async function fetchKeys({ authIssuer = '', authJwksUrl }: KeySource): Promise<LocalJWKSet> {
  const signal = AbortSignal.timeout(PATIENCE);
  const url = authJwksUrl ?? (await discover(authIssuer, signal));
  const keys = await fetchJson(url, signal);
  try {
    return createLocalJWKSet(keys as JSONWebKeySet);
  } catch {
    throw new Error(`${url} answered no key set`);
  }
}

/** Asks the discovery document for the address of the keys (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = Object(await fetchJson(url, signal)) as Record<string, unknown>;
  // Section 4.3: else one issuer could speak for another.
  if (document.issuer !== issuer) {
    throw new Error(`${url} is that of another issuer, ${shown(document.issuer)}`);
  }
  const { jwks_uri: keys } = document;
  if (typeof keys !== 'string' || !URL.canParse(keys) || !isSecure(new URL(keys))) {
    throw new Error(`${url} has no https URL for its jwks_uri, but ${shown(keys)}`);
  }
  return keys;
}

/** What another wrote, as it may stand in a line of the log. */
function shown(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value).slice(0, 200);
}
