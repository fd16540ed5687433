import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type Dispatcher } from 'undici';
import { describeError } from '../../errors/describe.js';

/** The Error body of a 400 (interface, "Error"). */
export interface Refusal {
  readonly error: number;
  readonly message: string;
}

/** What the service said of a plant: it is stored, it is refused, or it may be sent again. */
export type Outcome =
  | { readonly kind: 'stored' }
  | ({ readonly kind: 'refused' } & Refusal)
  | { readonly kind: 'retry'; readonly reason: string; readonly delayMs: number };

/** The client's own longest delay; what a Retry-After asks for is added. */
const MAX_DELAY_MS = 10_000;

/** Without a byte from the service for so long, a connection counts as broken. */
const SILENCE_MS = 30_000;

/** The most that a Retry-After can ask for; timers of weeks would fire at once. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Creates plants in a service, over connections that are kept. A plant may be sent again without harm, as
 * creation is idempotent. Of its own are the retries: undici's have neither jitter nor an end before the
 * last try, and wait no longer than their own bound where Retry-After asks for more.
 */
export class PlantsClient {
  /** Why the latest try that failed did; undefined once one has succeeded. */
  lastError: string | undefined;
  private readonly pool: Pool;
  private readonly request: Dispatcher.RequestOptions;
  private readonly stopping = new AbortController();

  /**
   * @param url of the service, http or https; with a path of its own if need be
   * @param retries how often one plant is tried, and the delay after the first try; each further one is twice
   *   as long. By default it is some 40 seconds with 10 tries: long enough for a service to start again
   */
  constructor(
    { origin, pathname, search }: URL,
    token: string,
    connections: number,
    private readonly retries: { readonly tries: number; readonly firstDelayMs?: number },
  ) {
    this.pool = new Pool(origin, {
      connections,
      allowH2: false,
      connectTimeout: SILENCE_MS,
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
    });
    this.request = {
      method: 'POST',
      path: `${pathname.replace(/\/$/, '')}/plants${search}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    };
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
      if (tries >= this.retries.tries || this.stopping.signal.aborted) {
        const attempts = tries === 1 ? '1 attempt' : `${tries} attempts`;
        throw new Error(`gave up after ${attempts} (${outcome.reason})`);
      }
      await this.pause(tries, outcome.delayMs);
    }
  }

  /** From now on nothing is tried again; what is in flight comes to its end. */
  stop(): void {
    this.stopping.abort();
  }

  /** Closes the connections. */
  close(): Promise<void> {
    return this.pool.destroy();
  }

  private async attempt(body: Buffer): Promise<Outcome> {
    let answer: Parameters<typeof outcomeOf>;
    try {
      const response = await this.pool.request({ ...this.request, body });
      const retryAfter = response.headers['retry-after']?.toString();
      answer = [response.statusCode, await response.body.text(), retryAfter];
    } catch (error) {
      return { kind: 'retry', reason: describeError(error), delayMs: 0 };
    }
    this.lastError = undefined;
    return outcomeOf(...answer);
  }

  /** Exponential back-off, with jitter so that those who failed together do not come back so. */
  private async pause(tries: number, delayMs: number): Promise<void> {
    const { firstDelayMs = 200 } = this.retries;
    const backoff = Math.min(MAX_DELAY_MS, firstDelayMs * 2 ** (tries - 1));
    const jitter = 0.5 + Math.random() / 2;
    await sleep(delayMs + backoff * jitter, undefined, { signal: this.stopping.signal });
  }
}

/**
 * Reads an answer of `POST /plants`. 200 and 400 are the interface's own; 429 and every 5xx pass,
 * with time; any other status would be that of every further plant as well.
 *
 * @throws Error where it makes no sense to go on
 */
export function outcomeOf(status: number, body: string, retryAfter = ''): Outcome {
  const { name, error, message } = fieldsOf(body);
  if (status === 200 && typeof name === 'string') return { kind: 'stored' };
  const isError = typeof error === 'number' && typeof message === 'string';
  if (status === 400 && isError) return { kind: 'refused', error, message };
  const reason = isError ? `${status}, error ${error}: ${message}` : `${status}`;
  if (status === 429 || status >= 500)
    return { kind: 'retry', reason, delayMs: delayOf(retryAfter) };
  if (isError) throw new Error(`the service answered ${reason}`);
  throw new Error(`the answer, with status ${status}, is not one of a plant store`);
}

function fieldsOf(json: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(json) as object | null) };
  } catch {
    return {};
  }
}

/** Milliseconds of both forms of Retry-After, seconds and a date (RFC 9110, section 10.2.3). */
function delayOf(retryAfter: string): number {
  const isSeconds = /^\d+$/.test(retryAfter);
  const delay = isSeconds ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now();
  return delay > 0 ? Math.min(delay, MAX_RETRY_AFTER_MS) : 0;
}
