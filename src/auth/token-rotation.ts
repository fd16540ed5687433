import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, Repository } from 'typeorm';
import { issue } from './issue.js';
import { holds, isBefore, Token } from './token.entity.js';
import { TokenError } from './tokens.service.js';

/** Gives a holder a new secret while the old one goes on for a while. */
@Injectable()
export class TokenRotation {
  constructor(@InjectRepository(Token) private readonly tokens: Repository<Token>) {}

  /**
   * Makes another token of a name, and returns its secret, which is nowhere to be had again. Those of
   * the name that hold come to their end after `overlap`, or earlier if they would have.
   *
   * @param overlap milliseconds
   * @param lifetime of the new one, in milliseconds; that of the newest which holds if left out
   * @throws TokenError where no token of that name holds
   */
  rotate(name: string, overlap: number, lifetime?: number): Promise<string> {
    return this.tokens.manager.transaction(async (manager) => {
      const tokens = manager.getRepository(Token);
      const which = { name, revokedAt: IsNull() };
      // Changes nothing, but locks them: rotations at once take turns, and the second sees the first's.
      await tokens.update(which, { name });
      const held = (await tokens.find({ where: which, order: { id: 'ASC' } })).filter((token) =>
        holds(token),
      );
      const newest = held.at(-1);
      if (!newest) throw new TokenError(`no token named ${name} holds: create one`);

      const { secret, row } = issue(name, lifetime ?? lifetimeOf(newest));
      const end = new Date(row.createdAt.getTime() + overlap);
      const later = held.filter(({ expiresAt }) => isBefore(end, expiresAt));
      await tokens.update({ id: In(later.map(({ id }) => id)) }, { expiresAt: end });
      await tokens.insert(row);
      return secret;
    });
  }
}

/** In milliseconds; undefined for ever. */
function lifetimeOf({ createdAt, expiresAt }: Token): number | undefined {
  return expiresAt === null ? undefined : expiresAt.getTime() - createdAt.getTime();
}
