import { IsNull, MoreThan, type DataSource } from 'typeorm';
import { recordLastUsed } from '../auth/last-used.js';
import { isBefore, Token } from '../auth/token.entity.js';
import type { Stores } from './stores.js';
import { readPairs, type Pair } from './token-pairs.js';

/**
 * Stores in the target the tokens that it lacks, under ids of its own. Of those that it has, it takes
 * over a revocation, an earlier end and a later use; none holds again that it has revoked or ended.
 */
export async function copyTokens(stores: Stores): Promise<void> {
  for await (const pairs of readPairs(stores)) {
    const lacking = pairs.filter(({ same }) => !same).map(({ token }) => token);
    await insert(stores.target, lacking);
    for (const { token, same } of pairs) if (same) await end(stores.target, token, same);
    const uses = pairs.flatMap(laterUse);
    if (uses.length > 0) await recordLastUsed(stores.plants.manager, uses);
  }
}

/** A token that another process inserts meanwhile is left as it is. */
async function insert(store: DataSource, tokens: readonly Token[]): Promise<void> {
  if (tokens.length === 0) return;
  const rows = tokens.map(({ name, hash, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
    name,
    hash,
    createdAt,
    expiresAt,
    revokedAt,
    lastUsedAt,
  }));
  const insertion = store.createQueryBuilder().insert().into(Token).values(rows);
  await insertion.orIgnore().updateEntity(false).execute();
}

async function end(store: DataSource, token: Token, { id, ...same }: Token): Promise<void> {
  const tokens = store.getRepository(Token);
  const { revokedAt, expiresAt } = token;
  if (revokedAt && !same.revokedAt) await tokens.update({ id, revokedAt: IsNull() }, { revokedAt });
  if (expiresAt && isBefore(expiresAt, same.expiresAt)) {
    const later = [IsNull(), MoreThan(expiresAt)].map((end) => ({ id, expiresAt: end }));
    await tokens.update(later, { expiresAt });
  }
}

/** The target's id and the source's time where the source saw the token later. */
function laterUse({ token, same }: Pair): (readonly [id: number, time: number])[] {
  const time = token.lastUsedAt?.getTime() ?? 0;
  return same && time > (same.lastUsedAt?.getTime() ?? 0) ? [[same.id, time]] : [];
}
