import { AnswerError, ConnectionError, fieldsOf, TimeoutError, type Answer } from './errors.js';

export { AnswerError, ConnectionError, PlantStoreError, TimeoutError } from './errors.js';

/** A plant to create (interface, "NewPlant"). */
export interface NewPlant {
  /** Any int64. A number beyond 2^53 may have lost digits already and is refused: give a bigint. */
  readonly id: bigint | number;
  readonly name: string;
  readonly tag?: string | undefined;
}

/** A plant as the service answers it (interface, "Plant"). */
export interface Plant {
  readonly name: string;
  readonly tag?: string;
}

/** The part of `fetch()` that the client uses: the platform's own, or one like it. */
export type Fetch = (
  url: string,
  init: RequestInit,
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

/** Where a client's service is, and how patient the client is with it. */
export interface ClientOptions {
  /** Base address of the service, http or https; with a path of its own if need be. */
  readonly baseUrl: string | URL;
  readonly token: string;
  /** How often a plant is sent before its create fails: 5 by default. */
  readonly tries?: number;
  /** Milliseconds that one try may take, to the end of the answer: 30,000 by default. */
  readonly timeoutMs?: number;
  /** Milliseconds after the first try, 200 by default; each further delay is twice as long, up to 10 s. */
  readonly firstDelayMs?: number;
  /** In place of the platform's. */
  readonly fetch?: Fetch;
}

/** What one create can be told. */
export interface CreateOptions {
  /** Ends the create, also while it waits; the plant may be stored all the same. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each delay, with why the latest try failed. */
  readonly onRetry?: (error: AnswerError | ConnectionError) => void;
}

type Body = string | Uint8Array;

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The client's own longest delay; what a Retry-After asks for is added. */
const MAX_DELAY_MS = 10_000;

/** Beyond it a timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a header can carry (RFC 6750, section 2.1, and no stricter than need be). */
const CREDENTIAL = /^[\x21-\x7e]+$/;

/** Whether a text can be a bearer token at all. */
export function isCredential(text: string): boolean {
  return CREDENTIAL.test(text);
}

/**
 * A client of the plant store that keeps every digit of an id, on nothing but fetch(). Creates can be repeated, so
 * after a 429, a 5xx, a broken connection or a timeout it sends the plant again, with growing delays.
 */
export class PlantStoreClient {
  private readonly url: string;
  private readonly token: string;
  private readonly tries: number;
  private readonly timeoutMs: number;
  private readonly firstDelayMs: number;
  private readonly fetch: Fetch;

  /** @throws TypeError where the address or the token cannot be one */
  constructor(options: ClientOptions) {
    this.url = plantsUrl(options.baseUrl);
    this.token = options.token;
    this.tries = options.tries ?? 5;
    this.timeoutMs = Math.min(options.timeoutMs ?? 30_000, MAX_TIMER_MS);
    this.firstDelayMs = options.firstDelayMs ?? 200;
    this.fetch = options.fetch ?? ((url, init) => fetch(url, init));
    // fetch() would say so too late, as if the connection had failed. The value stays out of messages.
    if (this.token === '') throw new TypeError('token is empty');
    if (!isCredential(this.token)) throw new TypeError('token is not a bearer token');
  }

  /**
   * Creates a plant, or finds it created before with the same content.
   *
   * @throws RangeError or TypeError, before anything is sent, where `id` is no int64 known to its last digit
   * @throws AnswerError, ConnectionError or TimeoutError of the last try; the signal's reason
   */
  async createPlant({ id, ...rest }: NewPlant, options?: CreateOptions): Promise<Plant> {
    const { name, tag } = rest;
    const fields = JSON.stringify({ id: 0, name, tag }).slice('{"id":0'.length);
    return this.createPlantFromJson(`{"id":${digitsOf(id)}${fields}`, options);
  }

  /** {@link createPlant} of a JSON text, which is sent as it stands. */
  async createPlantFromJson(json: Body, options: CreateOptions = {}): Promise<Plant> {
    const { signal, onRetry } = options;
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const outcome = await this.send(json, tries, signal);
      if (!(outcome instanceof Error)) return outcome;
      if (tries >= this.tries || !mayPass(outcome)) throw outcome;
      onRetry?.(outcome);
      await sleep(this.delayAfter(outcome), signal);
    }
  }

  private async send(body: Body, tries: number, signal: AbortSignal | undefined) {
    const limit = new Limit(this.timeoutMs, signal);
    let answer: Answer;
    try {
      const response = await this.fetch(this.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.token}`, 'content-type': 'application/json' },
        // The types of fetch() refuse views of shared memory.
        body: body as NonNullable<RequestInit['body']>,
        // A create is never redirected: the answer is not a plant store's.
        redirect: 'manual',
        signal: limit.signal,
      });
      const { status, headers } = response;
      const [requestId, retryAfter] = [headers.get('x-request-id'), headers.get('retry-after')];
      answer = { status, requestId, retryAfter, body: await response.text() };
    } catch (cause) {
      signal?.throwIfAborted();
      if (limit.isOver) return new TimeoutError(cause, tries, `no answer in ${this.timeoutMs} ms`);
      return new ConnectionError(cause, tries);
    } finally {
      limit.end();
    }
    return plantOf(answer) ?? new AnswerError(answer, tries);
  }

  /** Exponential back-off, with jitter so that those who failed together do not come back so. */
  private delayAfter(error: AnswerError | ConnectionError): number {
    const backoff = Math.min(MAX_DELAY_MS, this.firstDelayMs * 2 ** (error.tries - 1));
    const asked = error instanceof AnswerError ? error.retryAfterMs : 0;
    return asked + backoff * (0.5 + Math.random() / 2);
  }
}

/**
 * A signal that says when a try is over: its time has passed, or its caller's signal says so. AbortSignal.timeout()
 * would keep a timer for every try that had its answer long ago.
 */
class Limit {
  isOver = false;
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly abort = () => this.controller.abort(this.outer?.reason);

  constructor(
    timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.controller.abort();
    }, timeoutMs);
    outer?.addEventListener('abort', this.abort);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Leaves nothing behind: neither the timer nor the listener. */
  end(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener('abort', this.abort);
  }
}

function plantsUrl(baseUrl: string | URL): string {
  const url = URL.parse(baseUrl);
  // fetch() refuses credentials in an address only when it is called, as if the connection had failed.
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl is not an http or https address without credentials');
  }
  return `${url.origin}${url.pathname.replace(/\/$/, '')}/plants${url.search}`;
}

/** An id as JSON writes an integer; JSON.stringify() cannot do it with a bigint. */
function digitsOf(id: unknown): string {
  if (typeof id !== 'bigint' && typeof id !== 'number') {
    throw new TypeError('id is neither a bigint nor a number');
  }
  if (typeof id === 'number' && !Number.isSafeInteger(id)) {
    throw new RangeError(
      'id is not a safe integer: beyond 2^53 a number loses digits, give a bigint',
    );
  }
  if (id < INT64_MIN || id > INT64_MAX) throw new RangeError('id is outside int64');
  return id.toString();
}

/** The plant of a 200; undefined where the answer is something else. */
function plantOf({ status, body }: Answer): Plant | undefined {
  const { name, tag } = status === 200 ? fieldsOf(body) : {};
  if (typeof name !== 'string') return undefined;
  return typeof tag === 'string' ? { name, tag } : { name };
}

/** Whether it can be better with time; any other answer would be the same again. */
function mayPass(error: AnswerError | ConnectionError): boolean {
  if (error instanceof AnswerError) return error.status === 429 || error.status >= 500;
  return !error.isTlsFailure;
}

async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
