// Finds the principal of a token of the service's own, in the cache or the database.
import { channel } from 'node:diagnostics_channel';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { In, Repository } from 'typeorm';
import { StoreHealth } from '../../database/health.js';
import { ERRORS, ApiException } from '../../errors/error-codes.js';
import { LastUsed } from './last-used.js';
import { describeHolder, InvalidTokenException, type Principal } from '../principal.js';
import { hashToken, isActive, hasSecretForm, Token } from './token.entity.js';

/** How long a token is accepted after the lookup that found it. A revoked token may work for that long. */
const CACHE_TTL_MS = 4_000;
/** After how long a used token is looked up again, while it is still accepted. */
const REFRESH_AFTER_MS = 2_000;
export const MAX_CACHED_TOKENS = 10_000;
/** Tokens that may wait for the next query; beyond that the service is overloaded. */
export const MAX_WAITING_TOKENS = 1_024;

const MALFORMED =
  'malformed: not plant_ and 38 letters and digits, of which the last 6 are a checksum';
/** With an identity provider, JwtVerifier has those of JSON, whose first characters are `{"`. */
const UNEXPECTED_JWT = 'malformed: a JSON Web Token, but AUTH_ISSUER is not set';

/** Publishes `hit` or `miss` each time one of the service's own tokens is looked for in the cache. */
export const tokenLookups = channel('plant-store.auth.lookup');

/** A token as the store has it, and its holder: made once a lookup, not once a request. */
interface Known {
  readonly token: Token;
  readonly principal: Principal;
  /** When its query was sent, by performance.now(). */
  readonly askedAt: number;
  /** When it expires, by performance.now(). */
  endsAt: number;
}

/** Finds the holders of the service's own tokens. */
@Injectable()
export class TokenVerifier {
  /** Measures time by performance.now(), which a clock that is set does not change. */
  private readonly cache = new LRUCache<string, Known>({
    // A lookup takes a place. Those of forged tokens must not push out known ones.
    max: MAX_CACHED_TOKENS + 2 * MAX_WAITING_TOKENS,
    ttl: CACHE_TTL_MS,
    ttlResolution: 0,
    // A token that was known remains distinct from forged ones.
    noDeleteOnStaleGet: true,
    noDeleteOnFetchRejection: true,
    // A lookup goes on if its place is taken.
    ignoreFetchAbort: true,
    fetchMethod: async (hash, before, { options }) => {
      const known = await (before ? this.refreshes : this.lookups).find(hash);
      // A slow response is as old as its query.
      if (known) options.ttl = Math.max(1, known.askedAt + CACHE_TTL_MS - performance.now());
      // A clock that is set back does not make a token last longer.
      if (known && before) known.endsAt = Math.min(known.endsAt, before.endsAt);
      return known;
    },
  });
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
   * The holder of a secret. A promise only if the token must be looked up.
   *
   * @throws InvalidTokenException; StoreUnavailableException, or the store's error; ApiException OVERLOADED
   */
  verify(secret: string): Principal | Promise<Principal> {
    const hash = hashToken(secret);
    const known = this.cache.get(hash);
    // The store has no token of another form, so it is not asked.
    if (!known && !hasSecretForm(secret))
      throw new InvalidTokenException(secret.startsWith('eyJ') ? UNEXPECTED_JWT : MALFORMED);
    tokenLookups.publish(known ? 'hit' : 'miss');
    if (!known) return this.health.awaitLookup(this.cache.fetch(hash)).then(this.use);
    if (performance.now() - known.askedAt >= REFRESH_AFTER_MS) {
      // In the background. If it fails, so does the first request after CACHE_TTL_MS.
      this.cache.fetch(hash, { forceRefresh: true }).catch(() => undefined);
    }
    return this.use(known);
  }

  private readonly use = (known: Known | undefined): Principal => {
    if (!known) throw new InvalidTokenException('unknown: not in the database');
    const { token, principal, endsAt } = known;
    if (endsAt <= performance.now() || !isActive(token))
      throw new InvalidTokenException(describeEnd(token), describeHolder(principal));
    this.lastUsed.record(token.id);
    return principal;
  };
}

function describeEnd({ revokedAt, expiresAt }: Token): string {
  return revokedAt
    ? `revoked at ${revokedAt.toISOString()}`
    : `expired at ${expiresAt?.toISOString()}`;
}

/**
 * Looks tokens up by their hashes, with one query at a time: hashes that are asked for meanwhile share the next
 * one. So many unknown tokens cost few queries, and leave the others their connections.
 */
class TokenLookup {
  private latest: Promise<unknown> = Promise.resolve();
  private next: ReturnType<typeof this.prepare> | undefined;

  constructor(private readonly tokens: Repository<Token>) {}

  /** @throws ApiException OVERLOADED; the store's error */
  async find(hash: string): Promise<Known | undefined> {
    const { hashes, found } = (this.next ??= this.prepare());
    if (hashes.length >= MAX_WAITING_TOKENS) throw new ApiException(ERRORS.OVERLOADED);
    hashes.push(hash);
    return (await found).get(hash);
  }

  private prepare() {
    const hashes: string[] = [];
    const found = this.latest.then(() => this.query(hashes));
    this.latest = found.catch(() => undefined);
    return { hashes, found };
  }

  private async query(hashes: readonly string[]): Promise<ReadonlyMap<string, Known>> {
    this.next = undefined;
    const askedAt = performance.now();
    const tokens = await this.tokens.findBy({ hash: In(hashes) });
    const describe = (token: Token): Known => ({
      token,
      principal: { id: `token:${token.id}`, name: token.name },
      askedAt,
      endsAt: askedAt + (token.expiresAt ? token.expiresAt.getTime() - Date.now() : Infinity),
    });
    return new Map(tokens.map((token) => [token.hash, describe(token)]));
  }
}
