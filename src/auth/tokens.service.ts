import { In, IsNull, LessThan, MoreThan, type FindOptionsWhere, type Repository } from 'typeorm';
import { chooseByEngine } from '../database/engine.js';
import { hashToken, isActive, isBefore, isSecret, newSecret, Token } from './token.entity.js';

/** What the ids of tokens are like: they fit a 32-bit integer. */
const ID = /^\d{1,9}$/;

/** The name of the token that a new store gets in development. */
const FIRST_NAME = 'first';

/** Locks other changes of tokens out, until the end of the transaction. */
const LOCK_TOKENS = {
  // A write of no row takes SQLite's lock.
  sqlite: 'UPDATE tokens SET id = id WHERE false',
  // The number is "token" in ASCII.
  postgres: `SELECT pg_advisory_xact_lock(${String(0x74_6f_6b_65_6e)})`,
};

/** A problem with an operator's command; the message is for them. */
export class TokenError extends Error {}

/** Issues, rotates, lists and revokes tokens: the operator's side. A secret cannot be retrieved later. */
export class TokensService {
  constructor(private readonly tokens: Repository<Token>) {}

  /**
   * Makes a token and returns its secret.
   *
   * @param lifetime milliseconds from now after which it expires; never if left out
   * @throws TokenError where a token of that name is active
   */
  create(name: string, lifetime?: number): Promise<string> {
    return this.change((tokens) => create(tokens, name, lifetime));
  }

  /**
   * Makes a token in a store that never had one, and returns its secret; undefined in any other. Skips stores that
   * have plants: an interrupted restore inserts tokens last and needs the table empty.
   */
  createFirst(): Promise<string | undefined> {
    return this.change(async (tokens) => {
      const plants = await tokens.query<unknown[]>('SELECT 1 FROM plants LIMIT 1');
      const isNew = plants.length === 0 && (await tokens.count()) === 0;
      return isNew ? create(tokens, FIRST_NAME) : undefined;
    });
  }

  /** Every token there is or was, in the order of creation. */
  list(): Promise<Token[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** The token of a secret, active or not; undefined where the secret is none, or none of this store. */
  async find(secret: string): Promise<Token | undefined> {
    if (!isSecret(secret)) return undefined;
    return (await this.tokens.findOneBy({ hash: hashToken(secret) })) ?? undefined;
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
    return this.change(async (tokens) => {
      const which = { name, revokedAt: IsNull() };
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
   * @returns them, in the order of creation
   * @throws TokenError where no such token is there that was not revoked before
   */
  async revoke(nameOrId: string): Promise<Token[]> {
    const which = ID.test(nameOrId) ? { id: Number(nameOrId) } : { name: nameOrId };
    const revoked = await this.revokeAll(() => which, { alsoExpired: true });
    if (revoked.length === 0) throw new TokenError(`no token ${nameOrId} that could be revoked`);
    return revoked;
  }

  /**
   * Revokes every active token that was created before an instant. They stop working within 5 seconds.
   *
   * @returns them, in the order of creation
   */
  revokeCreatedBefore(instant: Date): Promise<Token[]> {
    return this.revokeAll(() => ({ createdAt: LessThan(instant) }), { alsoExpired: false });
  }

  /**
   * Revokes, of some tokens, those that were not revoked before.
   *
   * @param which makes a new condition at each call, since TypeORM changes the operators in one that it has used
   */
  private revokeAll(
    which: () => FindOptionsWhere<Token>,
    { alsoExpired }: { alsoExpired: boolean },
  ): Promise<Token[]> {
    return this.change(async (tokens) => {
      const revokedAt = new Date();
      const ends = alsoExpired
        ? [{}]
        : [{ expiresAt: IsNull() }, { expiresAt: MoreThan(revokedAt) }];
      const due = ends.map((end) => ({ ...which(), ...end, revokedAt: IsNull() }));
      const { affected } = await tokens.update(due, { revokedAt });
      if (affected === 0) return [];
      return tokens.find({ where: { ...which(), revokedAt }, order: { id: 'ASC' } });
    });
  }

  /** Changes tokens in a transaction. Such changes take turns: each sees what the one before it has made. */
  private change<Result>(work: (tokens: Repository<Token>) => Promise<Result>): Promise<Result> {
    return this.tokens.manager.transaction(async (manager) => {
      await manager.query(chooseByEngine(manager.dataSource, LOCK_TOKENS));
      return work(manager.getRepository(Token));
    });
  }
}

/** @throws TokenError where a token of that name is active */
async function create(tokens: Repository<Token>, name: string, lifetime?: number): Promise<string> {
  const same = await tokens.findBy({ name, revokedAt: IsNull() });
  if (same.some((token) => isActive(token))) {
    throw new TokenError(
      `a token named ${name} exists: rotate or revoke it, or choose another name`,
    );
  }
  const { secret, row } = issue(name, lifetime);
  await tokens.insert(row);
  return secret;
}

/** A new secret, and the row of its token, which is not stored yet. */
function issue(name: string, lifetime?: number) {
  const secret = newSecret();
  const createdAt = new Date();
  const expiresAt = lifetime === undefined ? null : new Date(createdAt.getTime() + lifetime);
  return { secret, row: { name, hash: hashToken(secret), createdAt, expiresAt } };
}

/** In milliseconds; undefined where it never expires. */
function lifetimeOf({ createdAt, expiresAt }: Token): number | undefined {
  return expiresAt === null ? undefined : expiresAt.getTime() - createdAt.getTime();
}
