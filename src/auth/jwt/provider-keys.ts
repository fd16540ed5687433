import { Logger } from '@nestjs/common';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { isSecure } from '../../config/parsers.js';
import type { Config } from '../../config/config.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { AvailabilityLog } from '../../errors/availability-log.js';

/** The times between requests for the keys, and the timeout of a request. */
const TIMES_MS = {
  /** After an answer. A key that the provider has removed is accepted for that long. */
  refresh: 300_000,
  /** While the provider is unavailable; and after an answer, before a token with an unknown key causes a request. */
  cooldown: 10_000,
  /** While the provider is unavailable and no key is known. */
  retry: 1_000,
  /** For the discovery document and the keys together. */
  timeout: 5_000,
};

/** Characters of a document, bytes where it is ASCII: some hundred keys with their certificates. */
const MAX_DOCUMENT_LENGTH = 2 ** 19;

/** Where the keys are: at `authJwksUrl`, or where the discovery document of `authIssuer` says. */
type KeySource = Pick<Config, 'authIssuer' | 'authJwksUrl'>;

/**
 * The identity provider's keys, reloaded in the background. Known keys never expire, so they outlive an outage of
 * the provider. During an outage no token causes a request or waits for one; jose's createRemoteJWKSet() would
 * send one for each token with an unknown key.
 */
export class ProviderKeys {
  private known: JWTVerifyGetKey | undefined;
  private knownText = '';
  private answeredAt = -Infinity;
  private loading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly availability = new AvailabilityLog(
    new Logger('Tokens'),
    'the identity provider',
  );
  private readonly stopping = new AbortController();

  /** @param onChange called when other keys become known than before */
  constructor(
    private readonly source: KeySource,
    private readonly onChange: () => void,
    private readonly times = TIMES_MS,
  ) {}

  /**
   * The key of a token. An unknown key may be new, so the provider is asked.
   *
   * @throws ApiException IDENTITY_PROVIDER_UNAVAILABLE if no key at all is known; jose's errors
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (!this.known && !this.availability.isUnavailable) await this.reload();
    if (!this.known) throw new ApiException(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    try {
      return await this.known(header, token);
    } catch (error) {
      const isCooling = performance.now() - this.answeredAt < this.times.cooldown;
      const isUnknown = error instanceof errors.JWKSNoMatchingKey;
      if (!isUnknown || isCooling || this.availability.isUnavailable) throw error;
      await this.reload();
      return this.known(header, token);
    }
  };

  /** Asks for the keys, now and from now on; calls while a request is in flight share it. Never rejects. */
  reload(): Promise<void> {
    return (this.loading ??= this.load().finally(() => (this.loading = undefined)));
  }

  stop(): void {
    this.stopping.abort();
    clearTimeout(this.timer);
  }

  private async load(): Promise<void> {
    const { refresh, cooldown, retry, timeout } = this.times;
    clearTimeout(this.timer);
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(timeout), this.stopping.signal]);
      this.learn(await fetchKeys(this.source, signal));
      this.availability.markAvailable();
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.availability.markUnavailable(error);
    }
    const pause = this.known ? cooldown : retry;
    const wait = this.availability.isUnavailable ? pause : refresh;
    this.timer = setTimeout(() => void this.reload(), wait).unref();
  }

  /** @throws jose's JWKSInvalid */
  private learn(keys: JSONWebKeySet): void {
    const known = createLocalJWKSet(keys);
    this.answeredAt = performance.now();
    const text = JSON.stringify(keys);
    if (text === this.knownText) return;
    this.known = known;
    this.knownText = text;
    this.onChange();
  }
}

/**
 * The identity provider's JSON Web Key Set (RFC 7517, section 5) as it is now.
 *
 * @throws Error with a message for the operator
 */
export async function fetchKeys(
  { authIssuer = '', authJwksUrl }: KeySource,
  signal: AbortSignal,
): Promise<JSONWebKeySet> {
  const url = authJwksUrl ?? (await discover(authIssuer, signal));
  return (await fetchJson(url, signal)) as JSONWebKeySet;
}

/** Asks the discovery document for the address of the keys (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await fetchJson(url, signal)) as { issuer: string; jwks_uri: string } | null;
  // Section 4.3: else one issuer could speak for another.
  if (document?.issuer !== issuer) {
    throw new Error(`${url} is that of another issuer, ${document?.issuer}`);
  }
  const keys = URL.parse(document.jwks_uri);
  if (!keys || !isSecure(keys)) throw new Error(`${url} has no https URL for its jwks_uri`);
  return keys.href;
}

/** Reads a JSON document. A redirect is not followed: it could lead where the operator did not point. */
async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: 'application/json' };
  const response = await fetch(url, { headers, signal, redirect: 'manual' });
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  let text = '';
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.length > MAX_DOCUMENT_LENGTH)
      throw new Error(`${url} answered more than ${MAX_DOCUMENT_LENGTH} bytes`);
  }
  return JSON.parse(text);
}
