import { Injectable, Optional } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { QueryFailedError, Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { lookPatience } from '../database/patience.js';
import { toStoreAway } from '../database/store-away.js';
import { within } from '../database/within.js';
import { ERRORS } from '../errors/errors.js';
import { Fault } from '../errors/fault.js';
import { Metrics } from '../metrics/metrics.js';
import { hashOf, isSecret } from './secret.js';
import { LastUsed } from './last-used.js';
import type { Principal } from './principal.js';
import { holds, Token } from './token.entity.js';

/** Milliseconds that a token is believed without a look at the store: a revoked one lives on so long. */
const LIFETIME = 4_000;
const TOKENS = 10_000;
/** Looks at the store under way at once: strangers with tokens of the right form must not crowd it. */
const LOOKS = 64;

/** A token and its holder, made once a look, not once a request. */
interface Known {
  readonly token: Token;
  readonly principal: Principal;
}

/** Tells whether a secret is that of a token that holds: the service's side. */
@Injectable()
export class TokenVerifier {
  private readonly cache: LRUCache<string, Known>;
  private readonly patience: number;
  private looks = 0;

  constructor(
    @InjectRepository(Token) private readonly tokens: Repository<Token>,
    private readonly lastUsed: LastUsed,
    config: Config,
    @Optional() private readonly metrics?: Metrics,
  ) {
    this.patience = lookPatience(config);
    this.cache = new LRUCache({
      max: TOKENS,
      ttl: LIFETIME,
      // Requests that miss at once share one look at the store.
      fetchMethod: async (hash, _stale, { options }) => {
        const asked = Date.now();
        const token = await this.look(hash);
        // A slow answer is as old as its question.
        options.ttl = Math.max(1, LIFETIME - (Date.now() - asked));
        return token && { token, principal: { id: `token:${token.id}`, name: token.name } };
      },
    });
  }

  /**
   * The holder of a secret, or undefined where the secret is malformed, unknown, expired or revoked.
   *
   * @throws StoreAwayError, or the store's error; Fault OVERLOADED
   */
  async verify(secret: string): Promise<Principal | undefined> {
    const hash = hashOf(secret);
    let known = this.cache.get(hash);
    // No token of ours, so that nobody is asked for it.
    if (!known && !isSecret(secret)) return undefined;
    this.metrics?.onTokenLookup(known ? 'hit' : 'miss');
    known ??= await this.cache.fetch(hash);
    if (!known || !holds(known.token)) return undefined;
    this.lastUsed.touch(known.token.id);
    return known.principal;
  }

  private async look(hash: string): Promise<Token | undefined> {
    if (this.looks >= LOOKS) throw new Fault(ERRORS.OVERLOADED);
    this.looks += 1;
    try {
      return (await within(this.patience, this.tokens.findOneBy({ hash }))) ?? undefined;
    } catch (error) {
      // No statement failed, so there was no connection.
      throw error instanceof QueryFailedError ? error : toStoreAway(error);
    } finally {
      this.looks -= 1;
    }
  }
}
