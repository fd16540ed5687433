/** The work of `import`, which import.command.ts runs. */
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { describeError, OutputError } from '../errors/operator-message.js';
import { CONTENT } from '../plants/plant.entity.js';
import { parseMembers, readLines, type Members } from './ndjson.js';

export interface ImportOptions {
  /** Base address of the service. Its path may end in `/plants`. */
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

/** An error of the connection, or a response that neither stores nor refuses the plant. */
type Failure = NodeJS.ErrnoException & { readonly isFinal?: boolean; readonly retryAfter?: number };

/** It keeps this many lines in memory and connections open: fewer than the nginx file allows an address. */
const MAX_IN_FLIGHT = 32;
const LIMITS = {
  /** A plant is tried this often. */
  tries: 20,
  /** The time from a request to its whole response. */
  responseMs: 30_000,
  /** The time in which a stop waits for responses. */
  stopMs: 5_000,
};
/** A lost connection or a moment of overload is over by then. */
const REPORTED_TRIES = 3;
const MAX_BACKOFF_MS = 10_000;
const MAX_RETRY_AFTER_MS = 600_000;
/** Names of fields in the report: a file may have a new one in each line. */
const MAX_IGNORED = 100;
const OTHERS = '(others)';
/** What the service keeps of a plant. */
const FIELDS: readonly string[] = ['id', ...CONTENT];
/** Codes of errors that a next try would have too: of certificates, TLS, a token that no header can have. */
const FINAL_ERROR =
  /CERT|LEAF_SIGNATURE|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)|^UND_ERR_INVALID_ARG/;

export class PlantImporter {
  /** Ends reading and retries; requests in flight have some seconds to get their responses. */
  readonly stopping = new AbortController();
  /** Plants so far, and the last of the leading lines that all have a response. */
  readonly counts = { answeredLines: 0, sent: 0, stored: 0, refused: 0 };
  /** How many stored plants had a field that the service ignores, by its name. */
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
      // A response may have this many bytes. Those of a plant store have some hundred.
      maxResponseSize: 2 ** 20,
    });
  }

  /** Resolves to why the import stopped early, in one line with the first line that failed; undefined if it did not. */
  async run(source: Readable): Promise<Error | undefined> {
    const { signal } = this.stopping;
    // A pipe whose writer is silent would be waited for forever otherwise.
    addAbortSignal(signal, source);
    const cutOff = () => setTimeout(() => void this.pool.destroy(), this.limits.stopMs).unref();
    signal.addEventListener('abort', cutOff);
    const lines: Promise<void>[] = [];
    let last = Promise.resolve();
    try {
      for await (const [line, text] of readLines(source)) {
        if (signal.aborted) break;
        last = this.importLine(line, text, last);
        lines.push(last);
        if (lines.length === MAX_IN_FLIGHT) await lines.shift();
      }
    } catch (error) {
      this.stopping.abort(error);
    }
    await last;
    await this.pool.destroy();
    if (!signal.aborted) return undefined;
    const where = this.failedLine === undefined ? '' : ` at line ${this.failedLine}`;
    const Failure = signal.reason instanceof OutputError ? OutputError : Error;
    return new Failure(`stopped${where}: ${this.describe(signal.reason)}`);
  }

  /** Sends a plant, and counts it once the lines before it are counted. */
  private async importLine(line: number, text: Buffer, previous: Promise<void>): Promise<void> {
    const plant = text.toString();
    const ignored = Object.keys(parseMembers(plant)).filter((field) => !FIELDS.includes(field));
    const message = `the service would ignore ${ignored.join(', ')}`;
    const isUnsent = this.options.strict && ignored.length > 0;
    try {
      const refusal = isUnsent ? { error: null, message } : await this.send(text);
      await previous;
      if (refusal) this.onRefused({ line, ...refusal, plant });
      else for (const name of ignored) this.countIgnored(name);
      this.counts[refusal ? 'refused' : 'stored'] += 1;
      if (this.failedLine === undefined) this.counts.answeredLines = line;
    } catch (error) {
      this.stopping.abort(error);
      await previous;
      this.failedLine ??= line;
    }
  }

  private countIgnored(name: string): void {
    const key = this.ignored.has(name) || this.ignored.size < MAX_IGNORED ? name : OTHERS;
    this.ignored.set(key, (this.ignored.get(key) ?? 0) + 1);
  }

  /** Sends a plant until it is stored or refused. Throws if a next try would fail too, or all failed. */
  private async send(plant: Buffer) {
    for (let tries = 1; ; tries += 1) {
      try {
        const refusal = await this.post(plant);
        this.counts.sent += 1;
        this.lastError = undefined;
        return refusal;
      } catch (error) {
        const { code = '', isFinal = FINAL_ERROR.test(code), retryAfter = 0 } = error as Failure;
        if (isFinal || tries >= this.limits.tries) throw error;
        const backoff = Math.min(MAX_BACKOFF_MS, 100 * 2 ** tries);
        // A random part spreads plants that failed together.
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
      // undici's own timeouts begin anew with each part of a response.
      signal: AbortSignal.timeout(this.limits.responseMs),
    });
    const received = parseMembers(await body.text());
    const isStored = statusCode === 200 && isSamePlant(parseMembers(plant.toString()), received);
    if (isStored) return undefined;
    const { error, message } = received;
    const isOurs = typeof error === 'number' && typeof message === 'string';
    if (statusCode === 400 && isOurs) return { error, message };
    const what = statusCode === 200 ? '200 without the plant that was sent' : statusCode;
    const why = isOurs ? `error ${error}: ${message}` : `status ${what}, not from a plant store`;
    throw Object.assign(new Error(why), {
      isFinal: statusCode < 500 && statusCode !== 408 && statusCode !== 429,
      retryAfter: Math.min(Number(headers['retry-after']) * 1_000 || 0, MAX_RETRY_AFTER_MS),
    });
  }

  private describe(error: unknown): string {
    // The code of a DOMException is a number.
    const code = String((error as Failure).code);
    if (code.startsWith('ERR_SSL_')) return 'the service speaks HTTP, not HTTPS: check --url';
    if (code === 'UND_ERR_INVALID_ARG')
      return 'the token has a character that no header can have: check it';
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return `${describeError(error)}; name the host by --url as the certificate does`;
    // A service with TLS closes connections without it.
    const isClosed = /^(UND_ERR_SOCKET|ECONNRESET)$/.test(code) && this.counts.sent === 0;
    return describeError(error) + (isClosed ? ' (is it https?)' : '');
  }
}

/** Whether a response is the plant that was sent: other services respond with a 200 too. */
function isSamePlant(sent: Members, received: Members): boolean {
  const isPlant = typeof received.name === 'string';
  return isPlant && CONTENT.every((field) => received[field] === sent[field]);
}
