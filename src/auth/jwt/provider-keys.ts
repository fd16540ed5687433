import { Logger } from '@nestjs/common';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { isSecure } from '../../config/parsers.js';
import type { Config } from '../../config/config.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { AvailabilityLog } from '../../errors/availability-log.js';

const TIMES_MS = {
  /** Between requests for the keys. A key that the provider has removed is accepted for that long. */
  refresh: 300_000,
  /** The same during an outage; and after a response, before a token with an unknown key causes a request. */
  cooldown: 10_000,
  /** During an outage while no key is known. */
  retry: 1_000,
  /** Of a request for the discovery document and the keys together. */
  timeout: 5_000,
};

/** Characters of a document, bytes where it is ASCII: some hundred keys with their certificates. */
const MAX_DOCUMENT_LENGTH = 2 ** 19;

/** Where the keys are: at `authJwksUrl`, or where the discovery document of `authIssuer` says. */
type KeySource = Pick<Config, 'authIssuer' | 'authJwksUrl'>;

/** The identity provider's keys, reloaded in the background. Known keys outlive an outage of the provider. */
export class ProviderKeys {
  private readonly keys: RemoteJWKSet;
  private knownText: string | undefined;
  /** Until the next reload; undefined while one is in flight. */
  private timer: NodeJS.Timeout | undefined;
  private readonly log = new AvailabilityLog(new Logger('Tokens'), 'the identity provider');

  /**
   * @param onChange called when other keys become known than before
   * @param stop ends all requests
   */
  constructor(
    private readonly source: KeySource,
    private readonly onChange: () => void,
    private readonly stop: AbortSignal,
    private readonly times = TIMES_MS,
  ) {
    this.keys = createRemoteJWKSet(new URL(source.authJwksUrl ?? source.authIssuer ?? ''), {
      cacheMaxAge: Infinity,
      cooldownDuration: times.cooldown,
      timeoutDuration: times.timeout,
      [customFetch]: this.load,
    });
  }

  /**
   * The key of a token. An unknown key may be new: the token waits while the provider is asked.
   *
   * @throws ApiException IDENTITY_PROVIDER_UNAVAILABLE if no key at all is known; jose's errors; what fails the request
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.keys(header, token);
    } catch (error) {
      if (this.keys.fresh) throw error;
      throw new ApiException(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    }
  };

  /** Asks for the keys, now and from now on. Never rejects. */
  async reload(): Promise<void> {
    const { refresh, cooldown, retry } = this.times;
    clearTimeout(this.timer);
    this.timer = undefined;
    let wait = refresh;
    try {
      await this.keys.reload();
      this.log.markAvailable();
      const text = JSON.stringify(this.keys.jwks());
      if (text !== this.knownText) this.onChange();
      this.knownText = text;
    } catch (error) {
      if (this.stop.aborted) return;
      this.log.markUnavailable(error);
      wait = this.keys.fresh ? cooldown : retry;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.reload(), wait).unref();
  }

  /** Called by jose, once for all that wait: at a reload, and for tokens whose key is unknown. */
  private readonly load: FetchImplementation = async (_url, { signal }) => {
    // During an outage no token causes a request.
    if (this.timer && this.log.isUnavailable) throw new errors.JWKSNoMatchingKey();
    // Joins this request, whatever has caused it, to learn its outcome. That jose shares a request in flight is not
    // documented. Tested by "the provider is asked once, whatever unknown keys come".
    queueMicrotask(() => void this.reload());
    return Response.json(await fetchKeys(this.source, AbortSignal.any([signal, this.stop])));
  };
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
    throw new Error(`${url} responded with ${response.status}`);
  }
  let text = '';
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (text.length > MAX_DOCUMENT_LENGTH)
      throw new Error(`${url} responded with more than ${MAX_DOCUMENT_LENGTH} bytes`);
  }
  return JSON.parse(text);
}
