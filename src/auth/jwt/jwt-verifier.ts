import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Config } from '../../config/config.js';
import { ERRORS, type ErrorKind, Fault } from '../../errors/errors.js';
import type { Principal } from '../principal.js';
import { hashOf } from '../secret.js';
import { readAccessToken, type AccessToken } from './access-token.js';
import { flawOf } from './flaw-of.js';
import { fetchKeys } from './provider-keys.js';
import { SignatureChecks } from './signature-checks.js';
import { SigningKeys } from './signing-keys.js';

/** Tokens that were found good are read once, and again when they expire or the keys change. */
const TOKENS = 10_000;

interface Known extends AccessToken {
  readonly keys: object | undefined;
}

/** Tells whether a JSON Web Token of the operator's identity provider holds. */
export class JwtVerifier implements OnApplicationShutdown {
  private readonly logger = new Logger('Tokens');
  private readonly cache = new LRUCache<string, Known>({ max: TOKENS });
  /** Not in the cache, by its fetch(): there each stranger's token would push out a good one. */
  private readonly reads = new Map<string, Promise<Known | undefined>>();
  private readonly checks = new SignatureChecks();
  private readonly keys: SigningKeys;
  private readonly lacksScope: ErrorKind;

  constructor(private readonly config: Config) {
    this.keys = new SigningKeys(() => fetchKeys(config));
    const challenge = ERRORS.INSUFFICIENT_SCOPE.headers['www-authenticate'];
    this.lacksScope = {
      ...ERRORS.INSUFFICIENT_SCOPE,
      headers: { 'www-authenticate': `${challenge}, scope="${config.authScope}"` },
    };
  }

  /** Asks for the keys before the first token comes. */
  prepare(): void {
    void this.keys.ask();
  }

  /**
   * Who a token speaks for, or undefined where it does not hold.
   *
   * @throws Fault INSUFFICIENT_SCOPE, IDENTITY_PROVIDER_UNAVAILABLE, OVERLOADED
   */
  async verify(token: string): Promise<Principal | undefined> {
    const hash = hashOf(token);
    const known = this.cached(hash) ?? (await this.readOnce(token, hash));
    if (known && !known.hasScope) throw new Fault(this.lacksScope);
    return known?.principal;
  }

  onApplicationShutdown(): void {
    this.keys.stop();
  }

  private cached(hash: string): Known | undefined {
    const known = this.cache.get(hash);
    return known?.keys === this.keys.current && Date.now() < (known?.end ?? 0) ? known : undefined;
  }

  /** Requests that bring one new token at once share one check of it. */
  private readOnce(token: string, hash: string): Promise<Known | undefined> {
    let read = this.reads.get(hash);
    if (!read) {
      read = this.read(token, hash).finally(() => this.reads.delete(hash));
      this.reads.set(hash, read);
    }
    return read;
  }

  private async read(token: string, hash: string): Promise<Known | undefined> {
    // Taken first: should the keys change meanwhile, the token is read again.
    const keys = this.keys.current;
    try {
      const read = await this.checks.run(this.keys.find, (find) =>
        readAccessToken(token, find, this.config),
      );
      const known = { ...read, keys };
      // Only good ones: a stranger's tokens push none out.
      this.cache.set(hash, known);
      return known;
    } catch (error) {
      if (error instanceof Fault) throw error;
      this.logger.debug(`a JSON Web Token is invalid: ${flawOf(error)}`);
      return undefined;
    }
  }
}
