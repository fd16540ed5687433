import { isBefore, Token } from '../auth/token.entity.js';
import { Conflicts } from './conflicts.js';
import { Digest, type Check } from './digest.js';
import type { Stores } from './stores.js';
import { readPairs } from './token-pairs.js';

/** @throws CopyError where the target has a token of the source with another name or time of creation */
export async function refuseTokenConflicts(stores: Stores): Promise<void> {
  const conflicts = new Conflicts();
  for await (const pairs of readPairs(stores)) {
    for (const { token, same } of pairs) {
      if (same && String(fieldsOf(same)) !== String(fieldsOf(token))) conflicts.add(token.name);
    }
  }
  conflicts.demandNone('the target holds tokens of the source otherwise', 'nothing was copied');
}

/**
 * Reads both sides and digests the tokens of the source, in its order: their hashes, names and times
 * but the last use. Both digests are the same only if the target has revoked or ended what the source
 * has; what the target alone has revoked, or ended earlier, makes no difference.
 */
export async function checkTokens(stores: Stores): Promise<Check> {
  const source = new Digest();
  const target = new Digest();
  for await (const pairs of readPairs(stores)) {
    for (const { token, same } of pairs) {
      const isRevoked = token.revokedAt !== null;
      source.add([[...fieldsOf(token), token.expiresAt, isRevoked]]);
      if (!same) continue;
      const end = isBefore(same.expiresAt, token.expiresAt) ? token.expiresAt : same.expiresAt;
      target.add([[...fieldsOf(same), end, isRevoked && same.revokedAt !== null]]);
    }
  }
  const all = await stores.target.getRepository(Token).count();
  return { source, target, further: all - target.count };
}

/** What never changes of a token. */
function fieldsOf({ hash, name, createdAt }: Token): (string | number)[] {
  return [hash, name, createdAt.getTime()];
}
