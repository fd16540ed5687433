import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, LessThan, MoreThan, Repository } from 'typeorm';
import { issue } from './issue.js';
import { holds, Token } from './token.entity.js';

/** A name starts with a letter, so that it is never taken for an id. */
const NAME = /^[A-Za-z][\w.@-]{0,63}$/;

/** What the ids of tokens are like: a 32-bit integer holds them. */
const ID = /^\d{1,9}$/;

/** A problem with an operator's command; the message is for them. */
export class TokenError extends Error {}

/** Issues, lists and revokes tokens: the operator's side. */
@Injectable()
export class TokensService {
  constructor(@InjectRepository(Token) private readonly tokens: Repository<Token>) {}

  /**
   * Makes a token and returns its secret, which is nowhere to be had again.
   *
   * @param lifetime milliseconds from now after which it no longer holds; for ever if left out
   * @throws TokenError where the name is malformed, or a token of that name holds
   */
  async create(name: string, lifetime?: number): Promise<string> {
    if (!NAME.test(name)) {
      throw new TokenError(
        'a name starts with a letter and has at most 64 letters, digits and any of ._@-',
      );
    }
    const same = await this.tokens.findBy({ name, revokedAt: IsNull() });
    if (same.some((token) => holds(token))) {
      throw new TokenError(
        `a token named ${name} exists: rotate or revoke it, or choose another name`,
      );
    }
    const { secret, row } = issue(name, lifetime);
    await this.tokens.insert(row);
    return secret;
  }

  /** Every token there is or was, in the order of creation. */
  list(): Promise<Token[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /**
   * Revokes the token of an id, or those of a name. They stop working within 5 seconds.
   *
   * @throws TokenError where no such token is there that was not revoked before
   */
  async revoke(nameOrId: string): Promise<void> {
    const which = ID.test(nameOrId) ? { id: Number(nameOrId) } : { name: nameOrId };
    const { affected } = await this.tokens.update(
      { ...which, revokedAt: IsNull() },
      { revokedAt: new Date() },
    );
    if (affected === 0) throw new TokenError(`no token ${nameOrId} that could be revoked`);
  }

  /**
   * Revokes every token that holds and was created before an instant. They stop working within 5 seconds.
   *
   * @returns their names, in the order of creation
   */
  revokeCreatedBefore(instant: Date): Promise<string[]> {
    return this.tokens.manager.transaction(async (manager) => {
      const tokens = manager.getRepository(Token);
      const revokedAt = new Date();
      // The change first, since it is what locks: a look before would be of the past by then.
      const ends = [IsNull(), MoreThan(revokedAt)];
      const which = ends.map((expiresAt) => ({
        createdAt: LessThan(instant),
        revokedAt: IsNull(),
        expiresAt,
      }));
      await tokens.update(which, { revokedAt });
      const revoked = await tokens.find({
        where: { createdAt: LessThan(instant), revokedAt },
        order: { id: 'ASC' },
      });
      return revoked.map(({ name }) => name);
    });
  }
}
