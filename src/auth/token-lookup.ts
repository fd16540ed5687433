import { In, type Repository } from 'typeorm';
import type { StoreHealth } from '../database/store-health.js';
import { ERRORS, Fault } from '../errors/errors.js';
import type { Token } from './token.entity.js';

/** Hashes that may wait for the next query; past them the service is overloaded. */
const MAX_WAITING = 1_024;

/** What the store has under a hash, and when it was asked, by performance.now(). */
export interface Found {
  readonly token: Token | undefined;
  readonly askedAt: number;
}

/** A hash that is asked for, and the promise for what is under it. */
class Waiting {
  resolve!: (found: Found) => void;
  reject!: (error: unknown) => void;
  readonly found = new Promise<Found>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/**
 * Looks tokens up by their hashes, over one connection at a time: those that are asked for while a query
 * runs share the next one. So many unknown tokens cost few queries, and leave the others their connections.
 */
export class TokenLookup {
  /** By hash: those of the query that runs, and those of the next. */
  private running = new Map<string, Waiting>();
  private waiting = new Map<string, Waiting>();

  constructor(
    private readonly tokens: Repository<Token>,
    private readonly health: StoreHealth,
  ) {}

  /** @throws StoreUnavailable, or the store's error; Fault OVERLOADED */
  find(hash: string): Promise<Found> {
    const { found } = this.asked(hash) ?? this.add(hash);
    return this.health.answer(found);
  }

  /** Whether an answer to this is on its way. */
  isAsked(hash: string): boolean {
    return this.asked(hash) !== undefined;
  }

  private asked(hash: string): Waiting | undefined {
    return this.running.get(hash) ?? this.waiting.get(hash);
  }

  private add(hash: string): Waiting {
    if (this.waiting.size >= MAX_WAITING) throw new Fault(ERRORS.OVERLOADED);
    const waiting = new Waiting();
    this.waiting.set(hash, waiting);
    if (this.running.size === 0) void this.run();
    return waiting;
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

  private async query(asked: ReadonlyMap<string, Waiting>): Promise<void> {
    const askedAt = performance.now();
    try {
      const tokens = await this.tokens.findBy({ hash: In([...asked.keys()]) });
      const byHash = new Map(tokens.map((token) => [token.hash, token]));
      for (const [hash, { resolve }] of asked) resolve({ token: byHash.get(hash), askedAt });
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }
}
