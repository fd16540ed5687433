import { channel } from 'node:diagnostics_channel';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { In, Repository } from 'typeorm';
import { StoreHealth } from '../../database/health.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { LastUsed } from './last-used.js';
import type { Principal } from '../principal.js';
import { hashToken, isActive, hasSecretForm, Token } from './token.entity.js';

/** How long a token is accepted without a lookup. A revoked token may work for that long. */
const CACHE_TTL_MS = 4_000;
/** After how long a used token is looked up again, while it is still accepted. */
const REFRESH_AFTER_MS = 2_000;
const MAX_CACHED_TOKENS = 10_000;
/** Tokens that may wait for the next query; beyond that the service is overloaded. */
const MAX_WAITING_TOKENS = 1_024;

/** Publishes `hit` or `miss` each time one of the service's own tokens is looked for in the cache. */
export const tokenLookups = channel('plant-store.auth.lookup');

/** A token as the store has it, and its holder: made once a lookup, not once a request. */
interface Known {
  readonly token: Token;
  readonly principal: Principal;
  /** By performance.now(), which no clock that is set changes. A slow answer is as old as its question. */
  readonly askedAt: number;
  /** When it expires, by performance.now(). */
  readonly endsAt: number;
}

/** Finds the holders of the service's own tokens. */
@Injectable()
export class TokenVerifier {
  private readonly cache = new LRUCache<string, Known>({ max: MAX_CACHED_TOKENS });
  /** Looks up tokens that were known before, so these never wait behind forged ones. */
  private readonly refreshes: TokenLookup;
  private readonly lookups: TokenLookup;

  constructor(
    @InjectRepository(Token) tokens: Repository<Token>,
    private readonly lastUsed: LastUsed,
    private readonly health: StoreHealth,
  ) {
    this.refreshes = new TokenLookup(tokens);
    this.lookups = new TokenLookup(tokens);
  }

  /**
   * The holder of a secret, or undefined if the secret is malformed, unknown, expired or revoked.
   *
   * @throws StoreUnavailableException, or the store's error; ApiException OVERLOADED
   */
  async verify(secret: string): Promise<Principal | undefined> {
    const hash = hashToken(secret);
    const known = this.cache.get(hash);
    // The store has no such token, so it is not asked.
    if (!known && !hasSecretForm(secret)) return undefined;
    const age = known ? performance.now() - known.askedAt : Infinity;
    tokenLookups.publish(age < CACHE_TTL_MS ? 'hit' : 'miss');
    if (age >= CACHE_TTL_MS) {
      const asked = this.lookUp(hash, known ? this.refreshes : this.lookups);
      return this.use(await this.health.answer(asked));
    }
    if (age >= REFRESH_AFTER_MS && !this.refreshes.isAsked(hash)) {
      // In the background. If it fails, so does the first request after CACHE_TTL_MS.
      this.lookUp(hash, this.refreshes).catch(() => undefined);
    }
    return this.use(known);
  }

  private use(known: Known | undefined): Principal | undefined {
    if (!known || known.endsAt <= performance.now() || !isActive(known.token)) return undefined;
    this.lastUsed.record(known.token.id);
    return known.principal;
  }

  private async lookUp(hash: string, lookup: TokenLookup): Promise<Known | undefined> {
    const { token, askedAt } = await lookup.find(hash);
    if (!token) {
      this.cache.delete(hash);
      return undefined;
    }
    const before = this.cache.get(hash);
    const principal = { id: `token:${token.id}`, name: token.name };
    const known = { token, principal, askedAt, endsAt: findEnd(token, before) };
    if (askedAt > (before?.askedAt ?? -Infinity)) this.cache.set(hash, known);
    return known;
  }
}

/** When a token expires, by performance.now(). A clock that is set back does not make it last longer. */
function findEnd({ expiresAt }: Token, before: Known | undefined): number {
  if (expiresAt === null) return Infinity;
  const end = performance.now() + expiresAt.getTime() - Date.now();
  const isSame = before?.token.expiresAt?.getTime() === expiresAt.getTime();
  return isSame ? Math.min(end, before.endsAt) : end;
}

/** What the store has under a hash, and when it was asked, by performance.now(). */
interface Found {
  readonly token: Token | undefined;
  readonly askedAt: number;
}

/** Lookups by the hash of the token. */
type Lookups = Map<string, PromiseWithResolvers<Found>>;

/**
 * Looks tokens up by their hashes, with one query at a time: hashes that are asked for meanwhile share the next
 * one. So many unknown tokens cost few queries, and leave the others their connections.
 */
class TokenLookup {
  private running: Lookups = new Map();
  private waiting: Lookups = new Map();

  constructor(private readonly tokens: Repository<Token>) {}

  isAsked(hash: string): boolean {
    return this.running.has(hash) || this.waiting.has(hash);
  }

  /** @throws ApiException OVERLOADED; rejects with the store's error */
  find(hash: string): Promise<Found> {
    const asked = this.running.get(hash) ?? this.waiting.get(hash);
    if (asked) return asked.promise;
    if (this.waiting.size >= MAX_WAITING_TOKENS) throw new ApiException(ERRORS.OVERLOADED);
    const lookup = Promise.withResolvers<Found>();
    this.waiting.set(hash, lookup);
    if (this.running.size === 0) void this.run();
    return lookup.promise;
  }

  /** Runs queries until nothing waits. Never rejects. */
  private async run(): Promise<void> {
    while (this.waiting.size > 0) {
      this.running = this.waiting;
      this.waiting = new Map();
      const askedAt = performance.now();
      try {
        const tokens = await this.tokens.findBy({ hash: In([...this.running.keys()]) });
        const byHash = new Map(tokens.map((token) => [token.hash, token]));
        for (const [hash, { resolve }] of this.running)
          resolve({ token: byHash.get(hash), askedAt });
      } catch (error) {
        for (const { reject } of this.running.values()) reject(error);
      }
    }
    this.running = new Map();
  }
}
