import { In, type Repository } from 'typeorm';
import { ERRORS, Fault } from '../errors/errors.js';
import type { Token } from './token.entity.js';

/** Hashes that may wait for the next query; past them the service is overloaded. */
const MAX_WAITING = 1_024;

/** What the store has under a hash, and when it was asked, by performance.now(). */
interface Found {
  readonly token: Token | undefined;
  readonly askedAt: number;
}

/** Hashes that are asked for, each with the promise for what is under it. */
type Lookups = Map<string, PromiseWithResolvers<Found>>;

/**
 * Looks tokens up by their hashes, over one connection at a time: those that are asked for while a query
 * runs share the next one. So many unknown tokens cost few queries, and leave the others their connections.
 */
export class TokenLookup {
  private running: Lookups = new Map();
  private waiting: Lookups = new Map();

  constructor(private readonly tokens: Repository<Token>) {}

  /** @throws Fault OVERLOADED; rejects with the store's error */
  find(hash: string): Promise<Found> {
    return (this.asked(hash) ?? this.add(hash)).promise;
  }

  /** Whether an answer to this is on its way. */
  isAsked(hash: string): boolean {
    return this.asked(hash) !== undefined;
  }

  private asked(hash: string): PromiseWithResolvers<Found> | undefined {
    return this.running.get(hash) ?? this.waiting.get(hash);
  }

  private add(hash: string): PromiseWithResolvers<Found> {
    if (this.waiting.size >= MAX_WAITING) throw new Fault(ERRORS.OVERLOADED);
    const lookup = Promise.withResolvers<Found>();
    this.waiting.set(hash, lookup);
    if (this.running.size === 0) void this.run();
    return lookup;
  }

  /** Runs one query after the other, until nothing waits any more. */
  private async run(): Promise<void> {
    while (this.waiting.size > 0) {
      this.running = this.waiting;
      this.waiting = new Map();
      await this.query(this.running);
      this.running = new Map();
    }
  }

  private async query(lookups: Lookups): Promise<void> {
    const askedAt = performance.now();
    try {
      const tokens = await this.tokens.findBy({ hash: In([...lookups.keys()]) });
      const byHash = new Map(tokens.map((token) => [token.hash, token]));
      for (const [hash, { resolve }] of lookups) resolve({ token: byHash.get(hash), askedAt });
    } catch (error) {
      for (const { reject } of lookups.values()) reject(error);
    }
  }
}
