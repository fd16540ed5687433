/**
 * Verifies tokens against the database. A query for each request would cost more than the create of a plant, and forged tokens
 * would make the database do as much work as valid ones:
 *
 * 1. A token is looked up by its hash. What the query found is used for 4 s after the query was sent, and no longer: an operator
 *    who revokes the token can rely on that. A token that was not found may be created at any time, and is not kept.
 * 2. From 2 s on, a request with it has it looked up again in the background, and does not wait. So a busy token never makes
 *    its requests wait for the database.
 * 3. Lookups that come while a query is in progress share the next query: however many tokens are forged, there is one at a
 *    time. All that wait for one token share its lookup.
 * 4. At most 320 requests wait for a lookup (WaitLimit), as a request that has timed out keeps its memory until the lookup ends.
 *    Those of tokens that the cache knows, even too old, have a limit of their own, so that a flood of forged tokens does not
 *    shut them out.
 * 5. A token is called unknown only if its row cannot be hidden: the writer asks the database whether it hides rows from this
 *    role, and the inspection of the store, which runs each second, must have found no problem.
 */
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { In, Repository } from 'typeorm';
import { Writer } from '../../database/engine.js';
import { StoreInspection } from '../../database/inspection.js';
import { TOO_LONG } from '../../database/store-errors.js';
import { StoreUnavailableException, InvalidTokenException } from '../../errors/error-codes.js';
import type { Principal } from '../principal.js';
import { TOKEN_SCOPES } from '../scopes.js';
import { Stopwatch } from '../stopwatch.js';
import { MAX_WAITING, WaitLimit } from '../wait-limit.js';
import { LastUsed } from './last-used.js';
import { isActive, Token } from './token.entity.js';
import { hashToken, hasSecretForm } from './token-secret.js';

const CACHE_TTL_MS = 4_000;
const REFRESH_AFTER_MS = 2_000;
const MAX_CACHED_TOKENS = 10_000;

const MALFORMED = 'malformed: not plant_ and 38 letters and digits with a right checksum';
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const JWT_ADVICE = '; JSON Web Tokens need AUTH_ISSUER';

/** A token that the database has. */
interface KnownToken {
  readonly token: Token;
  readonly principal: Principal;
  /** Runs since its query was sent. */
  readonly queried: Stopwatch;
}

@Injectable()
export class TokenVerifier {
  private readonly cache = new LRUCache<string, KnownToken>({
    // A lookup in progress takes a place too: those of forged tokens must not push out known ones.
    max: MAX_CACHED_TOKENS + MAX_WAITING,
    fetchMethod: (hash) => this.find(hash),
    // A lookup that fails leaves the old value, which marks the token as known.
    noDeleteOnFetchRejection: true,
    // A lookup goes on after its entry was evicted: requests wait for it.
    ignoreFetchAbort: true,
  });
  /** The hashes that the next query looks up. */
  private hashes: string[] = [];
  private nextQuery: Promise<ReadonlyMap<string, KnownToken>> | undefined;
  private latestQuery: Promise<unknown> = Promise.resolve();
  private readonly limits = { known: new WaitLimit(), unknown: new WaitLimit() };

  constructor(
    @InjectRepository(Token) private readonly tokens: Repository<Token>,
    private readonly lastUsed: LastUsed,
    private readonly inspection: StoreInspection,
    private readonly writer: Writer,
  ) {}

  /** @throws InvalidTokenException; ApiException OVERLOADED; the store's error */
  async verify(secret: string): Promise<Principal> {
    const hash = hashToken(secret);
    const knownToken = this.cache.get(hash);
    // The database has no token of another form.
    if (!knownToken && !hasSecretForm(secret))
      throw new InvalidTokenException(MALFORMED + (JWT.test(secret) ? JWT_ADVICE : ''));
    const age = knownToken?.queried.elapsedMs ?? Infinity;
    const lookUp = () => this.cache.fetch(hash, { forceRefresh: true });
    if (age >= CACHE_TTL_MS) {
      const limit = this.limits[knownToken ? 'known' : 'unknown'];
      return this.accept(await this.inspection.awaitInTime(() => limit.wait(lookUp)));
    }
    // Its failure is ignored: the first request after CACHE_TTL_MS looks the token up again.
    if (age >= REFRESH_AFTER_MS) lookUp().catch(() => undefined);
    return this.accept(knownToken);
  }

  private accept(knownToken: KnownToken | undefined): Principal {
    if (!knownToken) {
      this.inspection.assertSound();
      throw new InvalidTokenException('unknown: not in the database');
    }
    const { token, principal, queried } = knownToken;
    // The query may have been so slow that the token was revoked since.
    if (queried.elapsedMs >= CACHE_TTL_MS) throw new StoreUnavailableException(TOO_LONG);
    if (!isActive(token)) throw new InvalidTokenException(describeEnd(token), principal);
    this.lastUsed.record(token.id);
    return principal;
  }

  private async find(hash: string): Promise<KnownToken | undefined> {
    this.hashes.push(hash);
    this.nextQuery ??= this.latestQuery.then(() => this.query());
    this.latestQuery = this.nextQuery.catch(() => undefined);
    return (await this.nextQuery).get(hash);
  }

  private async query(): Promise<ReadonlyMap<string, KnownToken>> {
    const { hashes } = this;
    [this.hashes, this.nextQuery] = [[], undefined];
    const queried = new Stopwatch();
    const found = await this.tokens.findBy({ hash: In(hashes) });
    if (found.length < hashes.length) await this.writer.assertVisible();
    return new Map(
      found.map((token) => [token.hash, { token, principal: toPrincipal(token), queried }]),
    );
  }
}

function toPrincipal({ id, name }: Token): Principal {
  // All requests with the token share it.
  return Object.freeze({ id: `token:${id}`, name, scopes: TOKEN_SCOPES });
}

function describeEnd({ revokedAt, expiresAt }: Token): string {
  return `${revokedAt ? 'revoked' : 'expired'} at ${(revokedAt ?? expiresAt)?.toISOString()}`;
}
