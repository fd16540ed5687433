import { In, IsNull, type Repository } from 'typeorm';
import { COMMAND } from '../../config/config.js';
import type { Store } from '../../database/store.js';
import { toCommitError } from '../../database/store-errors.js';
import { getExpiry, isActive, listLast, Token, whereActive } from './token.entity.js';
import { createSecret, hashToken } from './token-secret.js';

/** What nobody knows if a commit has no response, and how to find out. */
const MAYBE_CHANGED = `the tokens were changed: see \`${COMMAND} token list\``;
const MAYBE_ISSUED = `a token was created: if \`${COMMAND} token list\` shows a new one, revoke it by its number`;

type Tokens = Repository<Token>;

/** A new token, its secret, which the store does not keep, and the ids of the tokens that it replaces. */
export interface IssuedToken extends Token {
  readonly secret: string;
  readonly replaced: readonly number[];
}

/** A command on tokens is refused. The message is for the operator. */
class TokenError extends Error {}

/** Issues, rotates, lists and revokes tokens. Without a decorator: commands use it, and must not wait for Nest. */
export class TokensService {
  constructor(private readonly tokens: Tokens) {}

  /** Creates a token, which expires after `lifetime` ms. @throws TokenError if the name has an active one */
  create(name: string, lifetime?: number): Promise<IssuedToken> {
    return this.change(async (tokens) => {
      if ((await tokens.findBy({ name })).some((token) => isActive(token)))
        throw new TokenError(
          `a token named ${name} exists: rotate or revoke it, or choose another name`,
        );
      return insert(tokens, name, lifetime);
    }, MAYBE_ISSUED);
  }

  /** Creates a token named `first` in a store that never had one; returns undefined in any other store. */
  createFirst(): Promise<IssuedToken | undefined> {
    return this.change(async (tokens) =>
      (await tokens.count()) === 0 ? insert(tokens, 'first') : undefined,
    );
  }

  list(): Promise<Token[]> {
    return this.tokens.find({ order: { id: 'ASC' } });
  }

  /** How many tokens are active, and when the first of those expires that have no successor. */
  async summarize(): Promise<{ readonly active: number; readonly nextExpiry: Date | undefined }> {
    const now = Date.now();
    // It reads few columns of few rows, as a scrape of the metrics must not keep the event loop for long.
    const tokens = await this.tokens.find({
      select: { name: true, expiresAt: true, revokedAt: true },
      where: whereActive(now),
    });
    const ends = listLast(tokens, now).map(getExpiry);
    const end = ends.reduce((first, next) => Math.min(first, next), Infinity);
    return { active: tokens.length, nextExpiry: end < Infinity ? new Date(end) : undefined };
  }

  /** The token of a secret, active or not. */
  find(secret: string): Promise<Token | null> {
    return this.tokens.findOneBy({ hash: hashToken(secret) });
  }

  /**
   * Creates another token of a name, as long-lived as the newest. Those that it replaces stay as they are until
   * {@link endReplaced}: first the caller must hand the secret over. @throws TokenError if the name has no active one
   */
  rotate(name: string, lifetime?: number): Promise<IssuedToken> {
    return this.change(async (tokens) => {
      const all = await tokens.find({ where: { name }, order: { id: 'ASC' } });
      // Revoked or not: a rotation has cut the lifetime of those before it.
      const newest = all.at(-1);
      if (!newest || !all.some((token) => isActive(token)))
        throw new TokenError(`no token named ${name} is active: create one`);

      const previous = getExpiry(newest) - newest.createdAt.getTime();
      const replaced = all.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
      return insert(tokens, name, lifetime ?? previous, replaced);
    }, MAYBE_ISSUED);
  }

  /** Ends the tokens that a rotation has replaced after `overlap` ms. @throws TokenError unless the new one is active */
  endReplaced({ id, name, hash, replaced }: IssuedToken, overlap: number): Promise<void> {
    return this.change(async (tokens) => {
      const successor = await tokens.findOneBy({ id, hash });
      if (!successor || !isActive(successor))
        throw new TokenError(
          `${name} (${id}) was revoked or has expired meanwhile: the tokens that it replaces stay as they are`,
        );

      const end = new Date(Date.now() + overlap);
      // Without an overlap no clock decides which ones end.
      const change = overlap > 0 ? { expiresAt: end } : { revokedAt: end };
      const lastsLonger = (token: Token) => overlap === 0 || getExpiry(token) > end.getTime();
      const old = await tokens.findBy({ id: In(replaced), revokedAt: IsNull() });
      for (const token of old.filter(lastsLonger)) await tokens.update(token.id, change);
    });
  }

  /** Removes a token whose secret could not be handed over. */
  async remove({ id, hash }: IssuedToken): Promise<void> {
    await this.change((tokens) => tokens.delete({ id, hash }));
  }

  /** Revokes the tokens of a name or an id, within 5 s. Returns those it has revoked. @throws TokenError if none */
  revoke(nameOrId: string): Promise<Token[]> {
    const isNamed = ({ id, name }: Token) => name === nameOrId || String(id) === nameOrId;
    return this.revokeEach(isNamed, `with the name or id ${nameOrId}`);
  }

  /** As {@link revoke}, whatever their name. */
  revokeAll(): Promise<Token[]> {
    return this.revokeEach(() => true);
  }

  private revokeEach(isMeant: (token: Token) => boolean, which = ''): Promise<Token[]> {
    return this.change(async (tokens) => {
      // Expired ones too: by the clock of the service they may be active.
      const all = await tokens.find({ where: { revokedAt: IsNull() }, order: { id: 'ASC' } });
      const revoked = all.filter(isMeant);
      if (revoked.length === 0) throw new TokenError(`no active token ${which}`.trimEnd());

      const revokedAt = new Date();
      const ids = revoked.map(({ id }) => id);
      await tokens.update(ids, { revokedAt });
      return revoked.map((token) => Object.assign(token, { revokedAt }));
    });
  }

  /** Changes tokens in a transaction. Changes take turns: each sees what the previous one has made. */
  private async change<Result>(
    work: (tokens: Tokens) => Promise<Result>,
    doubt = MAYBE_CHANGED,
  ): Promise<Result> {
    const progress = { isDone: false };
    try {
      return await this.tokens.manager.transaction(async (manager) => {
        // Each DataSource of the service and its commands is a Store.
        const { engine } = manager.dataSource as Store;
        await manager.query(engine.statements.lockChanges('tokens'));
        const result = await work(manager.getRepository(Token));
        progress.isDone = true;
        return result;
      });
    } catch (error) {
      // Once the work is done, only the commit can fail.
      throw progress.isDone ? toCommitError(error, doubt) : error;
    }
  }
}

async function insert(
  tokens: Tokens,
  name: string,
  lifetime = Infinity,
  replaced: readonly number[] = [],
): Promise<IssuedToken> {
  const secret = createSecret();
  const createdAt = new Date();
  const expiresAt = lifetime < Infinity ? new Date(createdAt.getTime() + lifetime) : null;
  const times = { createdAt, expiresAt, revokedAt: null, lastUsedAt: null };
  const token = tokens.create({ name, hash: hashToken(secret), ...times });
  // Gives it its id.
  await tokens.insert(token);
  return Object.assign(token, { secret, replaced });
}
