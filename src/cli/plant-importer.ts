/**
 * The work of `import`, which sends the lines of a file to a running service, each as a plant.
 *
 * 1. Lines are read while the oldest that has no response is fewer than 32 lines back, and each is sent immediately, on a
 *    connection of its own: the service can store them in one commit, and a file of any size needs little memory.
 * 2. A try that fails for a reason that may pass, such as a lost connection or an overload, is repeated, later each time. The
 *    plant may have been stored all the same: to the same id with the same content the service responds as to a new plant. A
 *    reason that stays, such as an invalid token, ends the import at once.
 * 3. A 200 counts only if it has the plant that was sent, and a 400 only if it has a number and a message: at a wrong
 *    address, another service may send either. The import goes on after a plant that was refused.
 * 4. Responses come in any order. Each line is counted after the lines before it, so that the report can name the line up to
 *    which every plant has its response.
 * 5. After a failure or a signal no further line is read. Requests in flight have 5 s left: what they store is counted.
 */
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { OutputError } from '../errors/operator-message.js';
import { CONTENT } from '../plants/plant.entity.js';
import { describeFailure, isFinal, type Failure } from './import-failure.js';
import { parseMembers, readLines } from './ndjson.js';

export interface ImportOptions {
  /** The base address of the service, whose path may end in `/plants`. */
  readonly url: URL;
  readonly token: string;
  /** Refuses plants with fields that the service would ignore. */
  readonly strict?: true;
}

export interface Refused {
  readonly line: number;
  /** The service's number of the error (docs/errors.md); null if the plant was not sent. */
  readonly error: number | null;
  readonly message: string;
  readonly plant: string;
}

/** Fewer connections than the nginx file allows for an address. */
const MAX_IN_FLIGHT = 32;
const LIMITS = {
  /** How often a plant is sent. */
  tries: 20,
  /** How long a request may wait for its whole response. */
  responseMs: 30_000,
  /** How long a stop waits for responses. */
  stopMs: 5_000,
};
/** The try whose failure is reported: a lost connection or a moment of overload is over by then. */
const REPORTED_TRIES = 3;
const MAX_BACKOFF_MS = 10_000;
const MAX_RETRY_AFTER_MS = 600_000;
/** The report names so many fields: a file may have a new one in each line. */
const MAX_IGNORED = 100;
const FIELDS: readonly string[] = ['id', ...CONTENT];

export class PlantImporter {
  /** Its abort ends the import early, with the reason of the abort. */
  readonly stopping = new AbortController();
  /**
   * The numbers of plants so far: each that was sent is stored or refused. `answeredLines` is the last of the leading lines that all
   * have a response.
   */
  readonly counts = { answeredLines: 0, sent: 0, stored: 0, refused: 0, notSent: 0 };
  /** How many stored plants had a field that the service ignores, by the name of the field. */
  readonly ignored = new Map<string, number>();
  /** When the latest try that failed is repeated, and why it failed; undefined after a final response. */
  lastError: string | undefined;
  private failedLine: number | undefined;
  private readonly pool: Pool;

  /** @param onRefused is given the refused plants in the order of their lines; the import stops if it throws */
  constructor(
    private readonly options: ImportOptions,
    private readonly onRefused: (refused: Refused) => void,
    private readonly onRetry: (reason: string) => void,
    private readonly limits = LIMITS,
  ) {
    this.pool = new Pool(options.url.origin, {
      connections: MAX_IN_FLIGHT,
      allowH2: false,
      // The responses of a plant store have some hundred bytes.
      maxResponseSize: 2 ** 20,
    });
  }

  /** Resolves to why the import stopped early, in one line with the first line that failed; undefined if it did not. */
  async run(source: Readable): Promise<Error | undefined> {
    const { signal } = this.stopping;
    // A pipe to which nobody writes would keep the loop below waiting.
    addAbortSignal(signal, source);
    const cutOff = () => setTimeout(() => void this.pool.destroy(), this.limits.stopMs).unref();
    signal.addEventListener('abort', cutOff);
    const lines: Promise<void>[] = [];
    try {
      for await (const [line, text] of readLines(source)) {
        if (signal.aborted) break;
        lines.push(this.importLine(line, text, lines.at(-1)));
        if (lines.length === MAX_IN_FLIGHT) await lines.shift();
      }
    } catch (error) {
      this.stopping.abort(error);
    }
    await lines.at(-1);
    await this.pool.destroy();
    if (!signal.aborted) return undefined;
    const where = this.failedLine === undefined ? '' : ` at line ${this.failedLine}`;
    const Failure = signal.reason instanceof OutputError ? OutputError : Error;
    return new Failure(`stopped${where}: ${this.describe(signal.reason)}`);
  }

  private async importLine(line: number, text: Buffer, previous?: Promise<void>): Promise<void> {
    const plant = text.toString();
    const ignored = Object.keys(parseMembers(plant)).filter((field) => !FIELDS.includes(field));
    const isUnsent = this.options.strict && ignored.length > 0;
    const message = `the service would ignore ${ignored.join(', ')}`;
    try {
      const refusal = isUnsent ? { error: null, message } : await this.send(text);
      const outcome = refusal ? 'refused' : 'stored';
      await previous;
      if (refusal) this.onRefused({ line, ...refusal, plant });
      else for (const name of ignored) this.countIgnored(name);
      this.counts[isUnsent ? 'notSent' : outcome] += 1;
      if (this.failedLine === undefined) this.counts.answeredLines = line;
    } catch (error) {
      this.stopping.abort(error);
      await previous;
      this.failedLine ??= line;
    }
  }

  private countIgnored(name: string): void {
    const key = this.ignored.has(name) || this.ignored.size < MAX_IGNORED ? name : '(others)';
    this.ignored.set(key, (this.ignored.get(key) ?? 0) + 1);
  }

  /** Sends a plant until it is stored or refused. @throws the error of the last try */
  private async send(plant: Buffer) {
    for (let tries = 1; ; tries += 1) {
      try {
        const refusal = await this.post(plant);
        this.counts.sent += 1;
        this.lastError = undefined;
        return refusal;
      } catch (error) {
        if (isFinal(error) || tries >= this.limits.tries) throw error;
        const { retryAfter = 0 } = error as Failure;
        const backoff = Math.min(MAX_BACKOFF_MS, 100 * 2 ** tries);
        // A random part spreads the next tries of plants that failed together.
        const delay = retryAfter + backoff * (0.5 + Math.random() / 2);
        this.lastError = `after ${Math.ceil(delay / 1_000)} s: ${this.describe(error)}`;
        if (tries === REPORTED_TRIES) this.onRetry(this.lastError);
        await sleep(delay, undefined, { signal: this.stopping.signal });
      }
    }
  }

  private async post(plant: Buffer) {
    const { url, token } = this.options;
    const { statusCode, headers, body } = await this.pool.request({
      method: 'POST',
      path: url.pathname.replace(/(\/plants)?\/?$/, '/plants'),
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: plant,
      // The timeouts of undici begin anew with each part of a response.
      signal: AbortSignal.timeout(this.limits.responseMs),
    });
    const received = parseMembers(await body.text());
    const sent = parseMembers(plant.toString());
    // Without the name below, a line without fields would be the same as any response.
    const isSame = CONTENT.every((field) => received[field] === sent[field]);
    const { name, error, message } = received;
    if (statusCode === 200 && typeof name === 'string' && isSame) return undefined;
    const isOurs = typeof error === 'number' && typeof message === 'string';
    if (statusCode === 400 && isOurs) return { error, message };
    const what = statusCode === 200 ? '200 without the plant that was sent' : statusCode;
    const why = isOurs ? `error ${error}: ${message}` : `status ${what}, not from a plant store`;
    throw Object.assign<Error, Failure>(new Error(why), {
      isFinal: statusCode < 500 && statusCode !== 408 && statusCode !== 429,
      retryAfter: Math.min(Number(headers['retry-after']) * 1_000 || 0, MAX_RETRY_AFTER_MS),
    });
  }

  private describe(error: unknown): string {
    return describeFailure(error, this.counts.sent === 0);
  }
}
