import { In, MoreThan } from 'typeorm';
import { Token } from '../auth/token.entity.js';
import type { Stores } from './stores.js';

/** Tokens of a page. */
const PAGE = 500;

/** A token of the source, and the target's with the same secret, if there is one. */
export interface Pair {
  readonly token: Token;
  readonly same: Token | undefined;
}

/** The tokens of the source in the order of their ids, page by page, each with the target's own. */
export async function* readPairs({ source, target }: Stores): AsyncGenerator<Pair[], void> {
  let last = 0;
  for (;;) {
    const page = await source.getRepository(Token).find({
      where: { id: MoreThan(last) },
      order: { id: 'ASC' },
      take: PAGE,
    });
    const end = page.at(-1);
    if (!end) return;
    const hash = In(page.map((token) => token.hash));
    const there = await target.getRepository(Token).findBy({ hash });
    const byHash = new Map(there.map((token) => [token.hash, token]));
    yield page.map((token) => ({ token, same: byHash.get(token.hash) }));
    last = end.id;
  }
}
