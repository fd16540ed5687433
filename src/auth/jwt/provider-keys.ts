/**
 * The public keys with which the identity provider signs tokens.
 *
 * 1. The start begins to load them and does not wait, as a provider that is away must not delay it. A load reads their address
 *    from the discovery document each time, since a provider may move them, unless AUTH_JWKS_URL says it, and reads them into a
 *    new set. If either fails, the old set stays: its tokens are accepted while the provider is away.
 * 2. A timer reloads them every minute. Without it a key that the provider has removed, perhaps because it was stolen, would be
 *    accepted until the next restart; while the provider is away, it is.
 * 3. A token whose key is unknown causes a reload, as the provider may just have begun to sign with that key. Such tokens share
 *    one reload and cause no other for 5 s: anybody can invent the id of a key, and would make us flood the provider. jose has
 *    a cooldown too, but that begins only with a reload that succeeds. Tokens with a known key wait for a reload in one case:
 * 4. If the latest reload began more than 65 s ago, the timer's and both requests' timeouts together, then the process stood
 *    still, as in a suspended machine. Then every token waits for a reload, as its key may have been removed meanwhile. If that
 *    reload fails, the known keys are used all the same.
 */
import { isDeepStrictEqual } from 'node:util';
import { Logger } from '@nestjs/common';
import * as jose from 'jose';
import { isSecure } from '../../config/parsers.js';
import type { Config } from '../../config/config.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { AvailabilityLog } from '../../errors/availability-log.js';
import { describeError } from '../../errors/operator-message.js';
import { Stopwatch } from '../stopwatch.js';
import { WaitLimit } from '../wait-limit.js';

/** The timer's interval, the time in which an unknown key causes no other reload, and that of each request of a reload. */
const TIMES_MS = { refresh: 60_000, cooldown: 5_000, timeout: 2_500 };

export class ProviderKeys {
  private keys: jose.LocalJWKSet | jose.RemoteJWKSet = jose.createLocalJWKSet({ keys: [] });
  private isLoaded = false;
  /** The reload in progress, which never rejects, and the time since the start of the latest one that has ended. */
  private reloading: Promise<void> | undefined;
  private reloaded: Stopwatch | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly limit = new WaitLimit();
  private readonly log = new AvailabilityLog(new Logger('Tokens'), 'the identity provider');

  /** @param onChange called when other keys become known than before */
  constructor(
    private readonly source: Partial<Pick<Config, 'authIssuer' | 'authJwksUrl'>>,
    private readonly onChange: () => void,
    private readonly times = TIMES_MS,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.reload(), this.times.refresh).unref();
    this.reload();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Makes sure that the key a token names is loaded. @throws JWKSNoMatchingKey; ApiException IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED */
  async ensureKey(header: jose.JWSHeaderParameters): Promise<void> {
    if (!this.areStale && (await this.has(header))) return;
    await this.limit.wait(() => this.refresh());
    if (!this.isLoaded) throw new ApiException(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    if (!(await this.has(header))) throw new jose.errors.JWKSNoMatchingKey();
  }

  /** Finds the key of a token. If several fit, it is the one that has signed the token. @throws jose's errors */
  readonly getKey: jose.JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.keys(header, token);
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSMultipleMatchingKeys)) throw error;
      for await (const key of error)
        if (await jose.flattenedVerify(token, key).catch(() => undefined)) return key;
      throw new jose.errors.JWSSignatureVerificationFailed();
    }
  };

  /** Whether a reload is overdue, because the process stood still or the first one has not ended. */
  get areStale(): boolean {
    const { refresh, timeout } = this.times;
    return this.age >= refresh + 2 * timeout;
  }

  private get age(): number {
    return this.reloaded?.elapsedMs ?? Infinity;
  }

  private async refresh(): Promise<void> {
    do {
      if (this.age >= this.times.cooldown) this.reload();
      await this.reloading;
      // That reload may have begun before the process stood still.
    } while (this.areStale);
  }

  private has(header: jose.JWSHeaderParameters): Promise<boolean> {
    return this.keys(header).then(
      () => true,
      (error: unknown) => !(error instanceof jose.errors.JWKSNoMatchingKey),
    );
  }

  private reload(): void {
    const started = new Stopwatch();
    this.reloading ??= this.load()
      .then(
        () => this.log.markAvailable(),
        (error: unknown) => this.log.markUnavailable(error),
      )
      .finally(() => {
        [this.reloading, this.reloaded] = [undefined, started];
      });
  }

  private async load(): Promise<void> {
    const { authIssuer = '', authJwksUrl } = this.source;
    const { timeout } = this.times;
    const url = authJwksUrl ?? (await discover(authIssuer, timeout));
    // This set asks nobody by itself: it never expires, and no unknown key makes it reload.
    const keys = jose.createRemoteJWKSet(new URL(url), {
      cacheMaxAge: Infinity,
      cooldownDuration: Infinity,
      timeoutDuration: timeout,
      [jose.customFetch]: fetchDocument,
    });
    await withUrl(url, () => keys.reload());
    if (!isDeepStrictEqual(keys.jwks(), this.keys.jwks())) this.onChange();
    this.keys = keys;
    this.isLoaded = true;
  }
}

/** Asks the discovery document for the address of the keys (OpenID Connect Discovery 1.0, section 4). */
function discover(issuer: string, timeout: number): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  return withUrl(url, async () => {
    // A redirect could lead to an address that the operator did not choose.
    const signal = AbortSignal.timeout(timeout);
    const response = await fetchDocument(url, { redirect: 'manual', signal });
    const document = (await response.json()) as { issuer?: string; jwks_uri?: string } | null;
    // One issuer could speak for another without this check (section 4.3).
    if (document?.issuer !== issuer)
      throw new Error(`it is that of another issuer, ${document?.issuer}`);
    const keys = URL.parse(document.jwks_uri ?? '');
    if (!keys || !isSecure(keys)) throw new Error('it has no https URL for its jwks_uri');
    return keys.href;
  });
}

/** A larger document is refused: the keys of a provider take some kilobytes. */
const MAX_DOCUMENT_BYTES = 2 ** 20;
/** A message quotes no more characters of a document or an address. */
const MAX_SHOWN_LENGTH = 400;

/** Requests a document as fetch() does. @throws Error if there is none, or one that is too large to keep */
async function fetchDocument(url: string, options: RequestInit): Promise<Response> {
  const { status, body } = await fetch(url, options);
  if (status !== 200) throw new Error(`the status is ${status}, not 200`);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > MAX_DOCUMENT_BYTES) throw new Error('the response is larger than 1 MiB');
    parts.push(part);
  }
  return new Response(Buffer.concat(parts));
}

/** Requests a URL. @throws Error that names it */
async function withUrl<Result>(url: string, request: () => Promise<Result>): Promise<Result> {
  try {
    return await request();
  } catch (cause) {
    throw new Error(`${shorten(url)}: ${shorten(describeError(cause))}`, { cause });
  }
}

/** Cuts a text for a message: what a provider chose may fill a document. */
function shorten(text: string): string {
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}
