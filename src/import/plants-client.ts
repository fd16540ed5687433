import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeOf, type Outcome, type Refusal } from './outcome.js';
import type { Post } from './post.js';

/** How often one plant is tried, and how long the client waits between tries, in milliseconds. */
export interface RetryPolicy {
  readonly tries: number;
  /** After the first try; every further wait is twice as long, up to `longest`. */
  readonly first: number;
  /** The client's own longest wait; what a Retry-After asks for comes on top. */
  readonly longest: number;
}

/** Some 40 seconds with 10 tries: long enough for a service to start again. */
export const RETRY_POLICY: RetryPolicy = { tries: 10, first: 200, longest: 10_000 };

/** Creates plants in a service. A plant may be sent again without harm: creation is idempotent. */
export class PlantsClient {
  /** Why the latest try that failed did; undefined once one has succeeded. */
  lastError: string | undefined;
  private readonly stopping = new AbortController();

  constructor(
    private readonly post: Post,
    private readonly retryPolicy = RETRY_POLICY,
  ) {
    // One listener for every plant that waits for its next try.
    setMaxListeners(0, this.stopping.signal);
  }

  /**
   * Creates the plant of a JSON text.
   *
   * @returns the refusal, or undefined where the plant is stored, now or before
   * @throws Error where the service gave no such answer
   */
  async create(plant: Buffer): Promise<Refusal | undefined> {
    for (let tries = 1; ; tries++) {
      const outcome = await this.attempt(plant);
      if (outcome.kind === 'stored') return undefined;
      if (outcome.kind === 'refused') return outcome;
      this.lastError = outcome.reason;
      if (tries >= this.retryPolicy.tries || this.stopping.signal.aborted) {
        throw new Error(
          `gave up after ${tries} ${tries === 1 ? 'attempt' : 'attempts'} (${outcome.reason})`,
        );
      }
      await this.pause(tries, outcome.wait);
    }
  }

  /** From now on nothing is tried again; what is under way comes to its end. */
  stop(): void {
    this.stopping.abort();
  }

  private async attempt(plant: Buffer): Promise<Outcome> {
    let answer;
    try {
      answer = await this.post(plant);
    } catch (error) {
      return { kind: 'again', reason: wordsOf(error), wait: 0 };
    }
    this.lastError = undefined;
    return outcomeOf(answer);
  }

  /** Exponential back-off, with jitter so that those who failed together do not come back so. */
  private async pause(tries: number, wait: number): Promise<void> {
    const { first, longest } = this.retryPolicy;
    const backoff = Math.min(longest, first * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
    await sleep(wait + backoff, undefined, { signal: this.stopping.signal });
  }
}

/** Node's error for a host with several addresses has a code and no message. */
function wordsOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || (code ?? 'the connection broke');
}
