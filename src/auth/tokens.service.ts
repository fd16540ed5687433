import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, LessThan, MoreThan, Repository } from 'typeorm';
import { hashOf, newSecret } from './secret.js';
import { isActive, isBefore, Token } from './token.entity.js';

/** A name starts with a letter, so that it is never taken for an id. */
const NAME = /^[A-Za-z][\w.@-]{0,63}$/;

/** What the ids of tokens are like: they fit a 32-bit integer. */
const ID = /^\d{1,9}$/;

/** The name of the token that a new store gets in development. */
const FIRST_NAME = 'first';

/** A problem with an operator's command; the message is for them. */
export class TokenError extends Error {}

/** Issues, rotates, lists and revokes tokens: the operator's side. A secret cannot be retrieved later. */
@Injectable()
export class TokensService {
  constructor(@InjectRepository(Token) private readonly tokens: Repository<Token>) {}

  /**
   * Makes a token and returns its secret.
   *
   * @param lifetime milliseconds from now after which it expires; never if left out
   * @throws TokenError where the name is malformed, or a token of that name is active
   */
  async create(name: string, lifetime?: number): Promise<string> {
    if (!NAME.test(name)) {
      throw new TokenError(
        'a name starts with a letter and has at most 64 letters, digits and any of ._@-',
      );
    }
    const same = await this.tokens.findBy({ name, revokedAt: IsNull() });
    if (same.some((token) => isActive(token))) {
      throw new TokenError(
        `a token named ${name} exists: rotate or revoke it, or choose another name`,
      );
    }
    const { secret, row } = issue(name, lifetime);
    await this.tokens.insert(row);
    return secret;
  }

  /** Makes a token in a store that never had one, and returns its secret; undefined in any other. */
  async createFirst(): Promise<string | undefined> {
    return (await this.tokens.count()) === 0 ? this.create(FIRST_NAME) : undefined;
  }

  /** Every token there is or was, in the order of creation. */
  list(): Promise<Token[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /**
   * Makes another token of a name, and returns its secret. The active ones of the name expire after
   * `overlap`, or earlier if they would have.
   *
   * @param overlap milliseconds
   * @param lifetime of the new one, in milliseconds; that of the newest active one if left out
   * @throws TokenError where no token of that name is active
   */
  rotate(name: string, overlap: number, lifetime?: number): Promise<string> {
    return this.tokens.manager.transaction(async (manager) => {
      const tokens = manager.getRepository(Token);
      const which = { name, revokedAt: IsNull() };
      // Changes nothing, but locks them: rotations at once take turns, and the second sees the first's.
      await tokens.update(which, { name });
      const found = await tokens.find({ where: which, order: { id: 'ASC' } });
      const active = found.filter((token) => isActive(token));
      const newest = active.at(-1);
      if (!newest) throw new TokenError(`no token named ${name} is active: create one`);

      const { secret, row } = issue(name, lifetime ?? lifetimeOf(newest));
      const end = new Date(row.createdAt.getTime() + overlap);
      const later = active.filter(({ expiresAt }) => isBefore(end, expiresAt));
      await tokens.update({ id: In(later.map(({ id }) => id)) }, { expiresAt: end });
      await tokens.insert(row);
      return secret;
    });
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
   * Revokes every active token that was created before an instant. They stop working within 5 seconds.
   *
   * @returns their names, in the order of creation
   */
  revokeCreatedBefore(instant: Date): Promise<string[]> {
    return this.tokens.manager.transaction(async (manager) => {
      const tokens = manager.getRepository(Token);
      const revokedAt = new Date();
      // The change first, since it is what locks: a lookup before would be of the past by then.
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

/** A new secret, and the row of its token, which is not stored yet. */
function issue(name: string, lifetime?: number) {
  const secret = newSecret();
  const createdAt = new Date();
  const expiresAt = lifetime === undefined ? null : new Date(createdAt.getTime() + lifetime);
  return { secret, row: { name, hash: hashOf(secret), createdAt, expiresAt } };
}

/** In milliseconds; undefined where it never expires. */
function lifetimeOf({ createdAt, expiresAt }: Token): number | undefined {
  return expiresAt === null ? undefined : expiresAt.getTime() - createdAt.getTime();
}
