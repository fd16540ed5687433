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
import { hashToken, hasSecretForm, isActive, Token } from './token.entity.js';

/** How long a token is accepted after the query that found it. */
const CACHE_TTL_MS = 4_000;
/** After how long a used token is looked up again in the background: a crowd with one token never waits. */
const REFRESH_AFTER_MS = 2_000;
const MAX_CACHED_TOKENS = 10_000;

const MALFORMED = 'malformed: not plant_ and 38 letters and digits with a right checksum';
/** Such a token may be an identity provider's. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const JWT_ADVICE = '; JSON Web Tokens need AUTH_ISSUER';

/** A token that the database has. */
interface KnownToken {
  readonly token: Token;
  /** Since its query was sent. */
  readonly queried: Stopwatch;
}

@Injectable()
export class TokenVerifier {
  private readonly cache = new LRUCache<string, KnownToken>({
    // A lookup takes a place too: those of forged tokens must not push out known ones.
    max: MAX_CACHED_TOKENS + MAX_WAITING,
    fetchMethod: (hash) => this.find(hash),
    // Keep the old value if the refresh fails: it marks the token as known.
    noDeleteOnFetchRejection: true,
    // Evicting the entry must not cancel a lookup that requests wait for.
    ignoreFetchAbort: true,
  });
  /** The hashes that the next query looks up. */
  private hashes: string[] = [];
  private next: Promise<ReadonlyMap<string, KnownToken>> | undefined;
  private latest: Promise<unknown> = Promise.resolve();
  /** Known tokens have a limit of their own, so that forged ones take no place of theirs. */
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
    const known = this.cache.get(hash);
    // The database has no token of another form.
    if (!known && !hasSecretForm(secret))
      throw new InvalidTokenException(MALFORMED + (JWT.test(secret) ? JWT_ADVICE : ''));
    const age = known?.queried.elapsedMs ?? Infinity;
    const lookUp = () => this.cache.fetch(hash, { forceRefresh: true });
    if (age >= CACHE_TTL_MS) {
      const limit = this.limits[known ? 'known' : 'unknown'];
      return this.accept(await this.inspection.awaitInTime(() => limit.wait(lookUp)));
    }
    // If it fails, so does the first request after CACHE_TTL_MS.
    if (age >= REFRESH_AFTER_MS) lookUp().catch(() => undefined);
    return this.accept(known);
  }

  private accept(known: KnownToken | undefined): Principal {
    if (!known) {
      this.inspection.assertSound();
      throw new InvalidTokenException('unknown: not in the database');
    }
    const { token, queried } = known;
    const principal = { id: `token:${token.id}`, name: token.name, scopes: TOKEN_SCOPES };
    // The token may have been revoked since a slow query.
    if (queried.elapsedMs >= CACHE_TTL_MS) throw new StoreUnavailableException(TOO_LONG);
    if (!isActive(token)) throw new InvalidTokenException(describeEnd(token), principal);
    this.lastUsed.record(token.id);
    return principal;
  }

  /** One query at a time, which all that come meanwhile share: forged tokens cost few queries. */
  private async find(hash: string): Promise<KnownToken | undefined> {
    this.hashes.push(hash);
    this.next ??= this.latest.then(() => this.query());
    this.latest = this.next.catch(() => undefined);
    return (await this.next).get(hash);
  }

  private async query(): Promise<ReadonlyMap<string, KnownToken>> {
    const { hashes } = this;
    [this.hashes, this.next] = [[], undefined];
    const queried = new Stopwatch();
    const known = new Map<string, KnownToken>();
    const found = await this.tokens.findBy({ hash: In(hashes) });
    // In a store that has a problem, a token may be there that is not found.
    if (found.length < hashes.length) await this.writer.assertVisible();
    for (const token of found) known.set(token.hash, { token, queried });
    return known;
  }
}

function describeEnd({ revokedAt, expiresAt }: Token): string {
  return `${revokedAt ? 'revoked' : 'expired'} at ${(revokedAt ?? expiresAt)?.toISOString()}`;
}
