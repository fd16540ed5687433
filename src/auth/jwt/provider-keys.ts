import { Logger } from '@nestjs/common';
import * as jose from 'jose';
import { isSecure } from '../../config/parsers.js';
import type { Config } from '../../config/config.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { AvailabilityLog } from '../../errors/availability-log.js';
import { WaitLimit } from '../wait-limit.js';

const TIMES_MS = {
  /** Between requests in the background. A key that the provider has removed is accepted for that long. */
  refresh: 60_000,
  /** After a request, before a token with an unknown key causes another. */
  cooldown: 5_000,
  /** Of a request for the discovery document and the keys together. */
  timeout: 5_000,
};

/** Where a provider lists several keys of an id. */
const MAX_TRIED_KEYS = 4;

/** Characters of a document, bytes where it is ASCII: some hundred keys with their certificates. */
const MAX_DOCUMENT_LENGTH = 2 ** 19;

/** Where the keys are: at `authJwksUrl`, or where the discovery document of `authIssuer` says. */
type KeySource = Pick<Config, 'authIssuer' | 'authJwksUrl'>;

/** The identity provider's keys, reloaded in the background. Known keys outlive an outage of the provider. */
export class ProviderKeys {
  private readonly keys;
  /** The latest request, which never rejects, and when it was sent, by performance.now(). */
  private latest: Promise<unknown> = Promise.resolve();
  private askedAt = -Infinity;
  private knownText: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly stopping = new AbortController();
  private readonly limit = new WaitLimit();
  private readonly log = new AvailabilityLog(new Logger('Tokens'), 'the identity provider');

  /** @param onChange called when other keys become known than before */
  constructor(
    source: KeySource,
    private readonly onChange: () => void,
    private readonly times = TIMES_MS,
  ) {
    const { signal: stop } = this.stopping;
    this.keys = jose.createRemoteJWKSet(new URL(source.authJwksUrl ?? source.authIssuer ?? ''), {
      cacheMaxAge: Infinity,
      // jose counts from a success: in an outage each token would cause a request.
      cooldownDuration: Infinity,
      timeoutDuration: times.timeout,
      [jose.customFetch]: async (_url, { signal }) =>
        Response.json(await fetchKeys(source, AbortSignal.any([signal, stop]))),
    });
  }

  start(): void {
    this.timer = setInterval(() => this.ask(), this.times.refresh).unref();
    this.ask();
  }

  stop(): void {
    clearInterval(this.timer);
    this.stopping.abort();
  }

  /**
   * Asks the provider for the key of a token if it is unknown, and waits.
   * @throws JWKSNoMatchingKey; ApiException IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED
   */
  async learn(header: jose.JWSHeaderParameters): Promise<void> {
    if (await this.has(header)) return;
    if (performance.now() - this.askedAt >= this.times.cooldown) this.ask();
    await this.limit.wait(() => this.latest);
    if (!this.keys.fresh) throw new ApiException(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    if (!(await this.has(header))) throw new jose.errors.JWKSNoMatchingKey();
  }

  /** The key of a token. @throws jose's errors */
  readonly find: jose.JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.keys(header, token);
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error;
      let tried = 0;
      for await (const key of error) {
        if (await jose.flattenedVerify(token, key).catch(() => undefined)) return key;
        if (++tried === MAX_TRIED_KEYS) break;
      }
      throw new jose.errors.JWSSignatureVerificationFailed();
    }
  };

  /** Whether keys are known, and one of them fits; also if the header is invalid, so that no key can. */
  private async has(header: jose.JWSHeaderParameters): Promise<boolean> {
    if (!this.keys.fresh) return false;
    return this.keys(header).then(
      () => true,
      (error: unknown) => !(error instanceof jose.errors.JWKSNoMatchingKey),
    );
  }

  private ask(): void {
    this.askedAt = performance.now();
    this.latest = this.keys.reload().then(
      () => {
        this.log.markAvailable();
        const text = JSON.stringify(this.keys.jwks());
        if (text !== this.knownText) this.onChange();
        this.knownText = text;
      },
      (error: unknown) => this.stopping.signal.aborted || this.log.markUnavailable(error),
    );
  }
}

/** The provider's JSON Web Key Set (RFC 7517, section 5). @throws Error with a message for the operator */
export async function fetchKeys(
  { authIssuer = '', authJwksUrl }: KeySource,
  signal: AbortSignal,
): Promise<unknown> {
  return fetchJson(authJwksUrl ?? (await discover(authIssuer, signal)), signal);
}

/** Asks the discovery document for the address of the keys (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = (await fetchJson(url, signal)) as { issuer: string; jwks_uri: string } | null;
  // Section 4.3: else one issuer could speak for another.
  if (document?.issuer !== issuer)
    throw new Error(`${url} is that of another issuer, ${String(document?.issuer).slice(0, 200)}`);
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
