/** The engine of `import`, which import.command.ts runs. */
import { setMaxListeners } from 'node:events';
import { addAbortSignal, type Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { describeError } from '../errors/operator-message.js';
import { CONTENT } from '../plants/plant.entity.js';
import { toPrintable } from './terminal.js';

export interface ImportOptions {
  /** Base address of the service. Its path may end in `/plants`. */
  readonly url: URL;
  readonly token: string;
  /** Plants in flight at once, and tries of each before the import stops. */
  readonly concurrency: number;
  readonly tries: number;
  /** Refuses plants with fields that the service would ignore. */
  readonly strict?: true;
}

/** A plant that was refused, with the number and the text of its line. */
export interface Refused {
  readonly line: number;
  /** The service's number of the error (docs/errors.md); null if the plant was not sent. */
  readonly error: number | null;
  readonly message: string;
  readonly plant: string;
}

/** An error of the connection, or a response that neither stores nor refuses the plant. */
type Failure = NodeJS.ErrnoException & { readonly isFinal?: boolean; readonly retryAfter?: number };

/** 2 MiB: twice what a service can be configured to take. */
const MAX_LINE_LENGTH = 2 ** 21;
const SILENCE_TIMEOUT_MS = 30_000;
const MAX_DELAY_MS = 10_000;
const MAX_RETRY_AFTER_MS = 600_000;
/** What the service keeps of a plant. */
const FIELDS: readonly string[] = ['id', ...CONTENT];
/** Further ignored fields are counted together. */
const MAX_IGNORED = 20;
/** Codes of errors that a next try would have too: of certificates, and of a service without TLS. */
const TLS_ERROR = /CERT|LEAF_SIGNATURE|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)/;

/** Sends every line of NDJSON to a service. In memory are the lines in flight, however long the source is. */
export class PlantsImport {
  /** Plants sent, stored and refused so far, and the bytes of their lines. */
  readonly tally = { sent: 0, stored: 0, refused: 0, bytes: 0 };
  /** How many plants, but those that the service refused, had a field that it ignores, by its name. */
  readonly ignored = new Map<string, number>();
  /** When the latest try that failed is repeated, and why it failed; undefined after a final response. */
  lastError: string | undefined;
  private readLine = 0;
  /** The numbers of lines in flight; at the end, of those that failed. */
  private readonly pending = new Set<number>();
  private readonly pool: Pool;

  /** @param stopping ends reading and retries; requests in flight still get their responses */
  constructor(
    private readonly options: ImportOptions,
    private readonly stopping: AbortController,
    private readonly onRefused: (refused: Refused) => void,
  ) {
    this.pool = new Pool(options.url.origin, {
      connections: options.concurrency,
      allowH2: false,
      headersTimeout: SILENCE_TIMEOUT_MS,
      bodyTimeout: SILENCE_TIMEOUT_MS,
      // In bytes: a plant store's responses have some hundred.
      maxResponseSize: 2 ** 20,
    });
    // One for each plant that waits for its next try.
    setMaxListeners(0, stopping.signal);
  }

  /** The number of leading lines that all have a response, counting blank ones; known at the end. */
  get answeredLines(): number {
    return Math.min(this.readLine, Math.min(...this.pending) - 1);
  }

  /** @throws Error if it stops early; its one line names the first line that failed */
  async run(source: Readable): Promise<void> {
    const { signal } = this.stopping;
    // Else a worker could wait forever for a silent pipe, also to leave its loop.
    addAbortSignal(signal, source);
    const lines = this.read(source);
    const halt = (cause: unknown): void => this.stopping.abort(cause);
    const work = async (): Promise<void> => {
      for await (const [number, text] of lines) await this.import(number, text).catch(halt);
    };
    const workers = Array.from({ length: this.options.concurrency }, () => work().catch(halt));
    await Promise.all(workers);
    await this.pool.destroy();
    if (!signal.aborted) return;
    const where = this.pending.size > 0 ? ` at line ${Math.min(...this.pending)}` : '';
    throw new Error(`stopped${where}: ${this.describe(signal.reason)}`);
  }

  /** Reads the lines that are not blank, with their numbers from 1. */
  private async *read(source: Readable): AsyncGenerator<[number: number, text: Buffer]> {
    let number = 0;
    for await (const line of splitLines(source)) {
      number += 1;
      // Editors on Windows put a byte order mark before the first line.
      const text = number === 1 ? line.replace(/^\xEF\xBB\xBF/, '') : line;
      if (text.length > MAX_LINE_LENGTH) throw new Error(`line ${number} is longer than 2 MiB`);
      if (text.trim() === '') continue;
      // Else a file of another kind would have every line refused.
      if (this.readLine === 0 && !/^\s*\{\s*\S/.test(text)) {
        throw new Error('not NDJSON: each line must be a whole JSON object');
      }
      if (this.stopping.signal.aborted) return;
      this.readLine = number;
      yield [number, Buffer.from(text, 'latin1')];
    }
  }

  private async import(line: number, text: Buffer): Promise<void> {
    this.pending.add(line);
    const plant = text.toString();
    const ignored = Object.keys(parseMembers(plant)).filter((field) => !FIELDS.includes(field));
    const message = `the service would ignore ${ignored.join(', ')}`;
    const isStrict = this.options.strict && ignored.length > 0;
    const refusal = isStrict ? { error: null, message } : await this.send(text);
    if (refusal) this.onRefused({ line, ...refusal, plant });
    if (!refusal || isStrict) ignored.forEach((field) => this.countIgnored(field));
    this.tally[refusal ? 'refused' : 'stored'] += 1;
    this.tally.bytes += text.length + 1;
    this.pending.delete(line);
  }

  private countIgnored(field: string): void {
    const name = this.ignored.has(field) || this.ignored.size < MAX_IGNORED ? field : 'others';
    this.ignored.set(name, (this.ignored.get(name) ?? 0) + 1);
  }

  /** Sends a plant until it is stored or refused. Throws if a next try would fail too, or all failed. */
  private async send(plant: Buffer) {
    for (let tries = 1; ; tries += 1) {
      try {
        const refusal = await this.post(plant);
        this.tally.sent += 1;
        this.lastError = undefined;
        return refusal;
      } catch (error) {
        const { code = '', isFinal = TLS_ERROR.test(code), retryAfter = 0 } = error as Failure;
        if (isFinal || tries >= this.options.tries) throw error;
        const backoff = Math.min(MAX_DELAY_MS, 100 * 2 ** tries);
        // A random part spreads plants that failed together.
        const delay = retryAfter + backoff * (0.5 + Math.random() / 2);
        this.lastError = `after ${Math.ceil(delay / 1_000)} s: ${this.describe(error)}`;
        const waited = sleep(delay, undefined, { signal: this.stopping.signal });
        await waited.catch(() => Promise.reject(error as Failure));
      }
    }
  }

  private async post(plant: Buffer) {
    const { url, token } = this.options;
    const response = await this.pool.request({
      method: 'POST',
      path: url.pathname.replace(/(\/plants)?\/?$/, '/plants'),
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      body: plant,
    });
    const { statusCode: status, headers, body } = response;
    const { name, error, message } = parseMembers(await body.text());
    if (status === 200 && typeof name === 'string') return undefined;
    const isOurs = typeof error === 'number' && typeof message === 'string';
    if (status === 400 && isOurs) return { error, message };
    const why = isOurs ? `error ${error}: ${message}` : `status ${status}, not from a plant store`;
    throw Object.assign(new Error(toPrintable(why)), {
      isFinal: status < 500 && status !== 408 && status !== 429,
      retryAfter: parseRetryAfter(headers['retry-after']),
    });
  }

  private describe(error: unknown): string {
    const { code = '' } = error as Failure;
    // Node appends advice, or the list of the certificate's names, which may be empty.
    const text = describeError(error).replace(/;.*|[: ]+$/, '');
    if (code.startsWith('ERR_SSL_')) return 'the service speaks HTTP, not HTTPS: check --url';
    if (TLS_ERROR.test(code)) return `${text}: check --url and NODE_EXTRA_CA_CERTS`;
    // A service with TLS closes connections without it.
    const isClosed = /^(UND_ERR_SOCKET|ECONNRESET)$/.test(code) && this.tally.sent === 0;
    return isClosed ? `${text} (is it https?)` : describeError(error);
  }
}

/** Splits at line feeds, each byte as a character. Ends behind a line that is too long. */
async function* splitLines(source: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
    if (rest.length > MAX_LINE_LENGTH) break;
  }
  yield rest;
}

/** The members of a JSON object; none if the text is something else. */
function parseMembers(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Milliseconds of both forms of Retry-After, seconds and a date (RFC 9110, section 10.2.3). */
function parseRetryAfter(header: unknown): number {
  const value = String(header);
  const delay = Number(value) * 1_000 || Date.parse(value) - Date.now();
  return delay > 0 ? Math.min(delay, MAX_RETRY_AFTER_MS) : 0;
}
