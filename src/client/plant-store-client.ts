import {
  AnswerError,
  ConnectionError,
  parseMembers,
  TimeoutError,
  type HttpAnswer,
} from './errors.js';

export { AnswerError, ConnectionError, PlantStoreError, TimeoutError } from './errors.js';

/** A plant to create (interface, "NewPlant"). */
export interface NewPlant {
  /** Any int64. A number beyond 2^53 may have lost digits and is refused: give a bigint. */
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
export type Fetch = (url: string, init: RequestInit) => Promise<HttpAnswer>;

export interface ClientOptions {
  /** Base address of the service, http or https; may have a path. */
  readonly baseUrl: string | URL;
  readonly token: string;
  /** How often a plant is sent before its create fails: 5 by default. */
  readonly tries?: number;
  /** Milliseconds that one try may take, to the end of the answer: 30,000 by default. */
  readonly timeoutMs?: number;
  /** Milliseconds after the first try, 200 by default; each further delay is twice as long, up to 10 s. */
  readonly firstDelayMs?: number;
  /** Replaces the platform's fetch(). */
  readonly fetch?: Fetch;
}

export interface CreateOptions {
  /** Aborts the create, also between tries; the plant may be stored nevertheless. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each delay, with why the latest try failed. */
  readonly onRetry?: (error: AnswerError | ConnectionError) => void;
}

/** The longest back-off; a Retry-After is added to it. */
const MAX_DELAY_MS = 10_000;

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a header can carry a text as bearer token: no stricter than RFC 6750, section 2.1. */
export function isCredential(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/**
 * A client of the plant store that keeps every digit of an id, on nothing but fetch(). Creates can be repeated, so
 * after a 408, a 429, a 5xx, a broken connection or a timeout it sends the plant again, with growing delays.
 */
export class PlantStoreClient {
  private readonly url: string;

  /** @throws TypeError if the address or the token is invalid */
  constructor(private readonly options: ClientOptions) {
    this.url = toPlantsUrl(options.baseUrl);
    // fetch() would report it later, as a failed connection. Messages never contain the value.
    if (options.token === '') throw new TypeError('token is empty');
    if (!isCredential(options.token)) throw new TypeError('token is not a bearer token');
  }

  /**
   * Creates a plant, or finds it created before with the same content.
   *
   * @throws RangeError or TypeError, before anything is sent, if `id` is no int64 with all its digits
   * @throws AnswerError, ConnectionError or TimeoutError of the last try; the signal's reason
   */
  async createPlant({ id, name, tag }: NewPlant, options?: CreateOptions): Promise<Plant> {
    const fields = JSON.stringify({ id: 0, name, tag }).slice('{"id":0'.length);
    return this.createPlantFromJson(`{"id":${formatId(id)}${fields}`, options);
  }

  /** {@link createPlant} of a JSON text, which is sent unchanged. */
  async createPlantFromJson(
    json: string | Uint8Array,
    options: CreateOptions = {},
  ): Promise<Plant> {
    const { signal, onRetry } = options;
    const { tries: maxTries = 5 } = this.options;
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const outcome = await this.send(json, tries, signal);
      if (!(outcome instanceof Error)) return outcome;
      if (tries >= maxTries || !isRetryable(outcome)) throw outcome;
      onRetry?.(outcome);
      if (!signal?.aborted) await sleep(this.computeDelay(outcome), signal);
    }
  }

  private async send(json: string | Uint8Array, tries: number, signal: AbortSignal | undefined) {
    const { token, fetch = globalThis.fetch } = this.options;
    const timeoutMs = Math.min(this.options.timeoutMs ?? 30_000, MAX_TIMER_MS);
    // AbortSignal.timeout() would keep its timer for 30 s after the answer.
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutMs);
    let answer: HttpAnswer;
    let body: string;
    try {
      answer = await fetch(this.url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        // The types of fetch() refuse views of shared memory.
        body: json as NonNullable<RequestInit['body']>,
        // A plant store never redirects a create.
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      });
      body = await answer.text();
    } catch (cause) {
      signal?.throwIfAborted();
      if (!late.signal.aborted) return new ConnectionError(cause, tries);
      return new TimeoutError(cause, tries, `no answer in ${timeoutMs} ms`);
    } finally {
      clearTimeout(timer);
    }
    return parsePlant(answer.status, body) ?? new AnswerError(answer, body, tries);
  }

  /** Computes the milliseconds of an exponential back-off. Its jitter spreads clients that failed together. */
  private computeDelay(error: AnswerError | ConnectionError): number {
    const { firstDelayMs = 200 } = this.options;
    const backoff = Math.min(MAX_DELAY_MS, firstDelayMs * 2 ** (error.tries - 1));
    const asked = error instanceof AnswerError ? error.retryAfterMs : 0;
    return asked + backoff * (0.5 + Math.random() / 2);
  }
}

function toPlantsUrl(baseUrl: string | URL): string {
  const url = URL.parse(baseUrl);
  // fetch() refuses credentials in an address late, as a failed connection.
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new TypeError('baseUrl is not an http or https address without credentials');
  }
  return `${url.origin}${url.pathname.replace(/\/$/, '')}/plants${url.search}`;
}

/** An id as JSON writes an integer; JSON.stringify() cannot do it with a bigint. */
function formatId(id: unknown): string {
  if (typeof id === 'bigint') {
    if (BigInt.asIntN(64, id) !== id) throw new RangeError('id is outside int64');
    return id.toString();
  }
  if (typeof id !== 'number') throw new TypeError('id is neither a bigint nor a number');
  if (Number.isSafeInteger(id)) return id.toString();
  throw new RangeError(
    'id is not a safe integer: beyond 2^53 a number loses digits, give a bigint',
  );
}

/** The plant of a 200; undefined if the answer is something else. */
function parsePlant(status: number, body: string): Plant | undefined {
  const { name, tag } = status === 200 ? parseMembers(body) : {};
  if (typeof name !== 'string') return undefined;
  return typeof tag === 'string' ? { name, tag } : { name };
}

function isRetryable(error: AnswerError | ConnectionError): boolean {
  if (!(error instanceof AnswerError)) return !error.isTlsFailure;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

/** Resolves after some milliseconds, or once the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', resolve);
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', resolve);
}
