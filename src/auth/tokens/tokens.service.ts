import { IsNull, LessThan, type FindOptionsWhere, type Repository } from 'typeorm';
import { getSystem } from '../../database/engine.js';
import { createSecret, hashToken, isActive, isBefore, Token } from './token.entity.js';

/** Ids of tokens fit a 32-bit integer. */
const ID = /^\d{1,9}$/;

/** Locks other changes of tokens out, until the end of the transaction. */
const LOCK_TOKENS = {
  // A write of no row takes SQLite's lock.
  sqlite: 'UPDATE tokens SET id = id WHERE false',
  // The number is "token" in ASCII.
  postgresql: `SELECT pg_advisory_xact_lock(${String(0x74_6f_6b_65_6e)})`,
};

/** Later than the end of any token: the last time that a Date can be. */
const NEVER_MS = 8.64e15;

type Tokens = Repository<Token>;

/** A command on tokens is refused. The message is for the operator. */
export class TokenError extends Error {}

/** Issues, rotates, lists and revokes tokens. Without a decorator: commands use it, and must not wait for Nest. */
export class TokensService {
  constructor(private readonly tokens: Tokens) {}

  /** Returns the secret of a new token, which expires after `lifetime` ms. @throws TokenError if the name has an active one */
  create(name: string, lifetime?: number): Promise<string> {
    return this.change(async (tokens) => {
      if ((await findActive(tokens, { name })).length > 0) {
        throw new TokenError(
          `a token named ${name} exists: rotate or revoke it, or choose another name`,
        );
      }
      return (await insert(tokens, name, lifetime)).secret;
    });
  }

  /**
   * Creates a token named `first` in a store that never had one, and returns its secret; undefined in any other store.
   * Skips stores that have plants: an interrupted restore inserts tokens last and needs the table empty.
   */
  createFirst(): Promise<string | undefined> {
    return this.change(async (tokens) => {
      const plants = await tokens.query<unknown[]>('SELECT 1 FROM plants LIMIT 1');
      const isNew = plants.length === 0 && (await tokens.count()) === 0;
      return isNew ? (await insert(tokens, 'first')).secret : undefined;
    });
  }

  list(): Promise<Token[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** When the first active token expires that has no successor: one of the same name that lasts longer. */
  async findNextExpiry(): Promise<Date | undefined> {
    const [first] = await this.tokens.query<{ last_end: number | string }[]>(
      `SELECT MAX(COALESCE(expires_at, ${NEVER_MS})) AS last_end FROM tokens
      WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${Date.now()})
      GROUP BY name ORDER BY last_end LIMIT 1`,
    );
    const end = Number(first?.last_end ?? NEVER_MS);
    return end < NEVER_MS ? new Date(end) : undefined;
  }

  /** The token of a secret, active or not. */
  find(secret: string): Promise<Token | null> {
    return this.tokens.findOneBy({ hash: hashToken(secret) });
  }

  /**
   * Creates another token of a name, and returns its secret. The name's active tokens expire after `overlap` ms, or
   * earlier. @param lifetime in ms; that of its newest one if left out @throws TokenError if none is active
   */
  rotate(name: string, overlap: number, lifetime?: number): Promise<string> {
    return this.change(async (tokens) => {
      const all = await tokens.find({ where: { name }, order: { id: 'ASC' } });
      const active = all.filter((token) => isActive(token));
      // Revoked or not: a rotation has cut the lifetime of those before it.
      const newest = all.at(-1);
      if (!newest || active.length === 0)
        throw new TokenError(`no token named ${name} is active: create one`);

      const previous = newest.expiresAt && newest.expiresAt.getTime() - newest.createdAt.getTime();
      const { secret, createdAt } = await insert(tokens, name, lifetime ?? previous);
      const end = new Date(createdAt.getTime() + overlap);
      for (const { id, expiresAt } of active) {
        if (isBefore(end, expiresAt)) await tokens.update(id, { expiresAt: end });
      }
      return secret;
    });
  }

  /** Revokes, within 5 s, the token of an id, or all of a name. Returns them. @throws TokenError if none is active */
  async revoke(nameOrId: string): Promise<Token[]> {
    const isId = ID.test(nameOrId);
    const which = isId ? { id: Number(nameOrId) } : { name: nameOrId };
    const revoked = await this.revokeAll((tokens) => findNotRevoked(tokens, which));
    if (revoked.length === 0)
      throw new TokenError(`no active token ${isId ? 'has the id' : 'named'} ${nameOrId}`);
    return revoked;
  }

  /** Revokes, within 5 s, all active tokens created before an instant. Returns them in the order of creation. */
  revokeCreatedBefore(instant: Date): Promise<Token[]> {
    return this.revokeAll((tokens) => findActive(tokens, { createdAt: LessThan(instant) }));
  }

  private revokeAll(find: (tokens: Tokens) => Promise<Token[]>): Promise<Token[]> {
    return this.change(async (tokens) => {
      const found = await find(tokens);
      const revokedAt = new Date();
      for (const token of found) {
        token.revokedAt = revokedAt;
        await tokens.update(token.id, { revokedAt });
      }
      return found;
    });
  }

  /** Changes tokens in a transaction. Changes take turns: each sees what the previous one has made. */
  private change<Result>(work: (tokens: Tokens) => Promise<Result>): Promise<Result> {
    return this.tokens.manager.transaction(async (manager) => {
      await manager.query(LOCK_TOKENS[getSystem(manager)]);
      return work(manager.getRepository(Token));
    });
  }
}

async function insert(tokens: Tokens, name: string, lifetime?: number | null) {
  const secret = createSecret();
  const createdAt = new Date();
  const expiresAt = typeof lifetime === 'number' ? new Date(createdAt.getTime() + lifetime) : null;
  await tokens.insert({ name, hash: hashToken(secret), createdAt, expiresAt });
  return { secret, createdAt };
}

async function findActive(tokens: Tokens, which: FindOptionsWhere<Token>): Promise<Token[]> {
  return (await findNotRevoked(tokens, which)).filter((token) => isActive(token));
}

function findNotRevoked(tokens: Tokens, which: FindOptionsWhere<Token>): Promise<Token[]> {
  return tokens.find({ where: { ...which, revokedAt: IsNull() }, order: { id: 'ASC' } });
}
