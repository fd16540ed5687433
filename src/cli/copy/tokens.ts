import { In, IsNull, MoreThan } from 'typeorm';
import { recordLastUsed } from '../../auth/last-used.js';
import { isBefore, Token } from '../../auth/token.entity.js';
import type { Plant } from '../../plants/plant.entity.js';
import { Conflicts, Digest, type Check } from './report.js';
import type { Stores } from './stores.js';

/** Tokens of a page. */
const PAGE = 500;

/** What the id of a principal starts with that is a token. */
const TOKEN = 'token:';

/** A token of the source, and the target's with the same secret, if there is one. */
interface Pair {
  readonly token: Token;
  readonly same: Token | undefined;
}

/** The tokens of the source in the order of their ids, page by page, each with the target's own. */
async function* readPairs({ source, target }: Stores): AsyncGenerator<Pair[], void> {
  for (let last: number | undefined = 0; last !== undefined;) {
    const where = { id: MoreThan(last) };
    const tokens = source.getRepository(Token);
    const page: Token[] = await tokens.find({ where, order: { id: 'ASC' }, take: PAGE });
    const hash = In(page.map((token) => token.hash));
    const there = await target.getRepository(Token).findBy({ hash });
    const byHash = new Map(there.map((token) => [token.hash, token]));
    yield page.map((token) => ({ token, same: byHash.get(token.hash) }));
    last = page.at(-1)?.id;
  }
}

/** @throws CopyError where the target has a token of the source with another name or time of creation */
export async function refuseTokenConflicts(stores: Stores): Promise<void> {
  const conflicts = new Conflicts();
  for await (const pairs of readPairs(stores)) {
    for (const { token, same } of pairs) {
      if (same && String(fixedOf(same)) !== String(fixedOf(token))) conflicts.add(token.name);
    }
  }
  const what = 'the target has tokens of the source with a different name or time of creation';
  conflicts.assertNone(what, 'nothing was copied');
}

/**
 * Stores in the target the tokens that it lacks, under ids of its own. Of those that it has, it takes
 * over a revocation, an earlier end and a later use; none that it has revoked or ended becomes active again.
 */
export async function copyTokens(stores: Stores): Promise<void> {
  for await (const pairs of readPairs(stores)) {
    const lacking = pairs.filter(({ same }) => !same).map(({ token }) => token);
    if (lacking.length > 0) await insert(stores, lacking);
    for (const { token, same } of pairs) if (same) await end(stores, token, same);
    const uses = pairs.flatMap(laterUse);
    if (uses.length > 0) await recordLastUsed(stores.plants.manager, uses);
  }
}

/** A token that another process inserts meanwhile is left as it is. */
async function insert({ target }: Stores, tokens: readonly Token[]): Promise<void> {
  const rows = tokens.map(({ name, hash, createdAt, expiresAt, revokedAt, lastUsedAt }) => ({
    name,
    hash,
    createdAt,
    expiresAt,
    revokedAt,
    lastUsedAt,
  }));
  const insertion = target.createQueryBuilder().insert().into(Token).values(rows);
  await insertion.orIgnore().updateEntity(false).execute();
}

async function end({ target }: Stores, token: Token, { id, ...same }: Token): Promise<void> {
  const tokens = target.getRepository(Token);
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

/**
 * Reads both sides and digests the tokens of the source, in its order: their hashes, names and times
 * but the last use. Both digests are the same only if the target has revoked or ended what the source
 * has; what the target alone has revoked, or ended earlier, makes no difference.
 */
export async function checkTokens(stores: Stores): Promise<Check> {
  const [source, target] = [new Digest(), new Digest()];
  for await (const pairs of readPairs(stores)) {
    for (const { token, same } of pairs) {
      const isRevoked = token.revokedAt !== null;
      source.add([[...fixedOf(token), token.expiresAt, isRevoked]]);
      if (!same) continue;
      const end = isBefore(same.expiresAt, token.expiresAt) ? token.expiresAt : same.expiresAt;
      target.add([[...fixedOf(same), end, isRevoked && same.revokedAt !== null]]);
    }
  }
  const all = await stores.target.getRepository(Token).count();
  return { source, target, more: all - target.count };
}

/** What never changes of a token. */
function fixedOf({ hash, name, createdAt }: Token): (string | number)[] {
  return [hash, name, createdAt.getTime()];
}

/** The creators of plants, as the target names them: a token has an id of the target's own there. */
export class Creators {
  /** By the source's ids of the principals; null where the source has no such token. */
  private readonly tokens = new Map<string, string | null>();

  constructor(private readonly stores: Stores) {}

  /**
   * Plants of the source as the target is to hold them. A token that came to the source since its tokens
   * were copied is copied first; a creator that no token is any more becomes null, not somebody else.
   */
  async translate(plants: readonly Plant[]): Promise<Plant[]> {
    const ids = plants.map(({ createdBy }) => createdBy).filter(isToken);
    if (ids.some((id) => !this.tokens.has(id))) await this.learn(ids);
    return plants.map(({ createdBy, ...plant }) => ({
      ...plant,
      createdBy: isToken(createdBy) ? (this.tokens.get(createdBy) ?? null) : createdBy,
    }));
  }

  private async learn(ids: readonly string[]): Promise<void> {
    await copyTokens(this.stores);
    for (const id of ids) this.tokens.set(id, null);
    for await (const pairs of readPairs(this.stores)) {
      for (const { token, same } of pairs) {
        if (same) this.tokens.set(`${TOKEN}${token.id}`, `${TOKEN}${same.id}`);
      }
    }
  }
}

function isToken(principal: string | null): principal is string {
  return principal?.startsWith(TOKEN) === true;
}
