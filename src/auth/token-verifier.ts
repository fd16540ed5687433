import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { Repository } from 'typeorm';
import { Config } from '../config/config.js';
import { lookPatience } from '../database/patience.js';
import { within } from '../database/within.js';
import { hashOf, isSecret } from './secret.js';
import { LastUsed } from './last-used.js';
import { holds, Token } from './token.entity.js';

/** Milliseconds that a token is believed without a look at the store: a revoked one lives on so long. */
const LIFETIME = 4_000;
const TOKENS = 10_000;

/** Tells whether a secret is that of a token that holds: the service's side. */
@Injectable()
export class TokenVerifier {
  private readonly cache: LRUCache<string, Token>;

  constructor(
    @InjectRepository(Token) private readonly tokens: Repository<Token>,
    private readonly lastUsed: LastUsed,
    config: Config,
  ) {
    const patience = lookPatience(config);
    this.cache = new LRUCache({
      max: TOKENS,
      ttl: LIFETIME,
      // Requests that miss at once share one look at the store.
      fetchMethod: async (hash) =>
        (await within(patience, this.tokens.findOneBy({ hash }))) ?? undefined,
    });
  }

  /**
   * The token of a secret, or undefined where the secret is malformed, unknown, expired or revoked.
   *
   * @throws StoreAwayError, or the store's error
   */
  async verify(secret: string): Promise<Token | undefined> {
    const hash = hashOf(secret);
    const token =
      this.cache.get(hash) ?? (isSecret(secret) ? await this.cache.fetch(hash) : undefined);
    if (!token || !holds(token)) return undefined;
    this.lastUsed.touch(token.id);
    return token;
  }
}
