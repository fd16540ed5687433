import { Logger } from '@nestjs/common';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  jwksCache,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type RemoteJWKSet,
} from 'jose';
import { isSecure } from '../../config/parsers.js';
import type { Config } from '../../config/config.js';
import { ERRORS, Fault } from '../../errors/errors.js';
import { Outage } from '../../errors/outage.js';

/** Milliseconds between two requests for the keys, and for one of them. */
const TIMES = {
  /** After an answer: a key that the provider has removed is accepted for that long. */
  refresh: 300_000,
  /** While the provider is unavailable; and the least before a token with an unknown key makes us ask. */
  cooldown: 10_000,
  /** While the provider is unavailable and no key is known. */
  retry: 1_000,
  /** For the discovery document and the keys together. */
  timeout: 5_000,
};

/** Characters of a document, bytes where it is ASCII: some hundred keys with their certificates. */
const MAX_DOCUMENT_LENGTH = 2 ** 19;

/** What of the configuration tells where the keys are. */
type KeySource = Pick<Config, 'authIssuer' | 'authJwksUrl'>;

/**
 * The identity provider's keys: jose's remote key set, reloaded in the background. Known keys never
 * expire, so they outlive an outage of the provider. jose alone would ask at each token with an unknown key
 * while the provider fails, and have all of them wait for it; here none of them asks or waits during an outage.
 */
export class ProviderKeys {
  /** Counts the key sets that the provider has had; 0 while no key is known. */
  version = 0;
  private readonly outage = new Outage(new Logger('Tokens'), 'the identity provider');
  private readonly stopping = new AbortController();
  private readonly remote: RemoteJWKSet;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: KeySource,
    private readonly times = TIMES,
  ) {
    // jose's default fetch is not used, so neither is the address: ask() finds it.
    this.remote = createRemoteJWKSet(new URL(source.authJwksUrl ?? source.authIssuer ?? ''), {
      cacheMaxAge: Infinity,
      cooldownDuration: times.cooldown,
      timeoutDuration: times.timeout,
      [customFetch]: (_url, { signal }) => {
        if (this.outage.isOn)
          return Promise.reject(new Fault(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE));
        return this.ask(signal);
      },
      [jwksCache]: watchKeys(() => this.version++),
    });
  }

  /**
   * The key of a token. One that is not known may be new, so the provider is asked.
   *
   * @throws Fault IDENTITY_PROVIDER_UNAVAILABLE where no key at all is known; jose's errors
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    try {
      return await this.remote(header, token);
    } catch (error) {
      if (error instanceof Fault && this.version > 0) throw new errors.JWKSNoMatchingKey();
      throw error;
    }
  };

  /** Asks for the keys, now and from now on. Never rejects. */
  async reload(): Promise<void> {
    try {
      // Apart from jose: who brings an unknown key would wait for this answer too.
      if (this.outage.isOn) await this.ask(AbortSignal.timeout(this.times.timeout));
      await this.remote.reload();
    } catch {
      // ask() has logged it, and set the timer.
    }
  }

  /** Asks no more. */
  stop(): void {
    this.stopping.abort();
    clearTimeout(this.timer);
  }

  private async ask(signal: AbortSignal): Promise<Response> {
    try {
      const both = AbortSignal.any([signal, this.stopping.signal]);
      const keys = await fetchKeys(this.source, both);
      this.outage.end();
      return Response.json(keys);
    } catch (error) {
      if (!this.stopping.signal.aborted) this.outage.begin(error);
      throw new Fault(ERRORS.IDENTITY_PROVIDER_UNAVAILABLE);
    } finally {
      this.schedule();
    }
  }

  private schedule(): void {
    clearTimeout(this.timer);
    if (this.stopping.signal.aborted) return;
    const { refresh, cooldown, retry } = this.times;
    const pause = this.version > 0 ? cooldown : retry;
    const wait = this.outage.isOn ? pause : refresh;
    this.timer = setTimeout(() => void this.reload(), wait).unref();
  }
}

/** A cache for jose that keeps nothing: jose writes each key set to it in the turn in which it takes it on. */
function watchKeys(onChange: () => void) {
  let known: string | undefined;
  return {
    uat: NaN,
    set jwks(keys: JSONWebKeySet) {
      const text = JSON.stringify(keys);
      if (text !== known) onChange();
      known = text;
    },
  };
}

/**
 * The identity provider's JSON Web Key Set (RFC 7517, section 5) as it is now.
 *
 * @throws Error with a message for the operator where there is none to use
 */
export async function fetchKeys(
  { authIssuer = '', authJwksUrl }: KeySource,
  signal: AbortSignal,
): Promise<JSONWebKeySet> {
  const url = authJwksUrl ?? (await discover(authIssuer, signal));
  const keys = (await fetchJson(url, signal)) as JSONWebKeySet;
  try {
    createLocalJWKSet(keys);
  } catch {
    throw new Error(`${url} answered no key set`);
  }
  return keys;
}

/** Asks the discovery document for the address of the keys (OpenID Connect Discovery 1.0, section 4). */
async function discover(issuer: string, signal: AbortSignal): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = Object(await fetchJson(url, signal)) as Record<string, unknown>;
  // Section 4.3: else one issuer could speak for another.
  if (document.issuer !== issuer) {
    throw new Error(`${url} is that of another issuer, ${quote(document.issuer)}`);
  }
  const { jwks_uri: keys } = document;
  if (typeof keys !== 'string' || !URL.canParse(keys) || !isSecure(new URL(keys))) {
    throw new Error(`${url} has no https URL for its jwks_uri, but ${quote(keys)}`);
  }
  return keys;
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
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} answered no JSON`);
  }
}

/** What the provider wrote, as it may appear in a line of the log. */
function quote(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value).slice(0, 200);
}
