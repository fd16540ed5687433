import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { Repository } from 'typeorm';
import { StoreHealth } from '../database/store-health.js';
import { tokenLookups } from './channels.js';
import { LastUsed } from './last-used.js';
import type { Principal } from './principal.js';
import { hashOf, isSecret } from './secret.js';
import { isActive, Token } from './token.entity.js';
import { TokenLookup } from './token-lookup.js';

/** Milliseconds that a token is accepted without a lookup: a revoked one works for so long. */
const CACHE_TTL_MS = 4_000;
/** Milliseconds after which a token that is used is looked up again, while it is still accepted. */
const REFRESH_AFTER_MS = 2_000;
const MAX_CACHED = 10_000;

/** A token that the store has, or had when it was asked, and its holder: made once a lookup, not once a request. */
interface Known {
  readonly token: Token;
  readonly principal: Principal;
  /** By performance.now(), which no clock that is set changes. A slow answer is as old as its question. */
  readonly askedAt: number;
  /** When it expires, likewise. */
  readonly endsAt: number;
}

/** Tells whether a secret is that of an active token: the service's side. */
@Injectable()
export class TokenVerifier {
  private readonly cache = new LRUCache<string, Known>({ max: MAX_CACHED });
  /** Of tokens that were known before, which never wait behind forged ones. */
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
   * The holder of a secret, or undefined where the secret is malformed, unknown, expired or revoked.
   *
   * @throws StoreUnavailable, or the store's error; Fault OVERLOADED
   */
  async verify(secret: string): Promise<Principal | undefined> {
    const hash = hashOf(secret);
    let known = this.cache.get(hash);
    // No token of ours, so the store is not asked for it.
    if (!known && !isSecret(secret)) return undefined;
    const age = known ? performance.now() - known.askedAt : Infinity;
    if (tokenLookups.hasSubscribers) {
      tokenLookups.publish({ result: age < CACHE_TTL_MS ? 'hit' : 'miss' });
    }
    if (age >= CACHE_TTL_MS) {
      known = await this.health.answer(this.lookUp(hash, known ? this.refreshes : this.lookups));
    } else if (age >= REFRESH_AFTER_MS) {
      this.refresh(hash);
    }
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
    const known = { token, principal, askedAt, endsAt: endOf(token, before) };
    if (askedAt > (before?.askedAt ?? -Infinity)) this.cache.set(hash, known);
    return known;
  }

  /** In the background: where it fails, so does the request that comes once the token is accepted no longer. */
  private refresh(hash: string): void {
    if (!this.refreshes.isAsked(hash)) this.lookUp(hash, this.refreshes).catch(() => undefined);
  }
}

/** When a token expires, by performance.now(): never later than was once found, as if the clock stood. */
function endOf({ expiresAt }: Token, before: Known | undefined): number {
  if (expiresAt === null) return Infinity;
  const end = performance.now() + expiresAt.getTime() - Date.now();
  const isSame = before?.token.expiresAt?.getTime() === expiresAt.getTime();
  return isSame ? Math.min(end, before.endsAt) : end;
}
