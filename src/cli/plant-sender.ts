/** Sends the plants of an import: plant-importer.ts reads them. */
import { once, setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { Pool, RetryAgent, type errors } from 'undici';
import { describeError } from '../errors/operator-message.js';
import { toPrintable } from './terminal.js';

/** A service, and how plants are sent to it. */
export interface Target {
  /** Base address of the service. Its path may end in `/plants`. */
  readonly url: URL;
  readonly token: string;
  /** Connections, which are reused. */
  readonly concurrency: number;
  /** How often a plant is sent before its import fails. */
  readonly tries: number;
}

/** Why a plant was refused. */
export interface Refusal {
  /** The service's number of the error (docs/errors.md); null if the plant was not sent. */
  readonly error: number | null;
  readonly message: string;
}

/** A connection that receives nothing for this long has failed. */
const SILENCE_TIMEOUT_MS = 30_000;
const TLS_CHECK_TIMEOUT_MS = 5_000;
/** A plant store's responses have some hundred. */
const MAX_RESPONSE_BYTES = 2 ** 20;
const FIRST_DELAY_MS = 200;
const MAX_DELAY_MS = 10_000;
const MAX_RETRY_AFTER_MS = 600_000;

export class PlantSender {
  /** Why the latest try failed; undefined after a final response. */
  lastError: string | undefined;
  private readonly agent: RetryAgent;
  private readonly path: string;
  private expectsTls: Promise<boolean> | undefined;

  /** @param stopping ends the wait for a next try; a request in flight still gets its response */
  constructor(
    private readonly target: Target,
    private readonly stopping: AbortSignal,
  ) {
    const { url, concurrency } = target;
    this.path = `${url.pathname.replace(/(\/plants)?\/?$/, '/plants')}${url.search}`;
    const pool = new Pool(url.origin, {
      connections: concurrency,
      allowH2: false,
      connectTimeout: SILENCE_TIMEOUT_MS,
      headersTimeout: SILENCE_TIMEOUT_MS,
      bodyTimeout: SILENCE_TIMEOUT_MS,
      maxResponseSize: MAX_RESPONSE_BYTES,
    });
    this.agent = new RetryAgent(pool, {
      throwOnError: false,
      retry: (error, { state }, done) => void this.retry(error, state.counter, done),
    });
    // Each plant that waits for its next try has one.
    setMaxListeners(0, stopping);
  }

  /**
   * Sends a plant, unchanged, until its response is final.
   *
   * @returns undefined if the plant is stored
   * @throws Error if the service neither stores nor refuses it
   */
  async send(plant: Buffer, tries = this.target.tries): Promise<Refusal | undefined> {
    const { statusCode, body } = await this.agent.request({
      method: 'POST',
      path: this.path,
      headers: {
        authorization: `Bearer ${this.target.token}`,
        'content-type': 'application/json',
      },
      body: plant,
    });
    const text = await body.text().catch(() => undefined);
    // RetryAgent would resume a body that was cut short by a range, which no create has.
    if (text === undefined && tries > 1) return this.send(plant, tries - 1);
    this.lastError = undefined;
    const { name, error, message } = parseMembers(text ?? '');
    if (statusCode === 200 && typeof name === 'string') return undefined;
    if (typeof error !== 'number' || typeof message !== 'string') {
      throw new Error(`status ${statusCode}, not from a plant store`);
    }
    if (statusCode === 400) return { error, message };
    throw new Error(`error ${error}: ${toPrintable(message)}`);
  }

  close(): Promise<void> {
    return this.agent.destroy();
  }

  /** Decides for RetryAgent: `done` without an error has it send the plant again. */
  private async retry(cause: Error, tries: number, done: (error?: Error) => void): Promise<void> {
    const error = await this.explain(cause);
    const { statusCode, headers } = error as Partial<errors.RequestRetryError>;
    const isRetryable = statusCode
      ? statusCode === 408 || statusCode === 429 || statusCode >= 500
      : describeTlsFailure(error) === undefined;
    if (!isRetryable || tries >= this.target.tries) {
      done(error);
      return;
    }
    this.lastError = statusCode ? `status ${statusCode}` : describeError(error);
    const backoff = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (tries - 1));
    // A random part spreads plants that failed together.
    const delay = parseRetryAfter(headers?.['retry-after']) + backoff * (0.5 + Math.random() / 2);
    const end = await sleep(delay, undefined, { signal: this.stopping }).catch(() => error);
    done(end);
  }

  /** Checks, once, whether a service that breaks connections expects TLS. */
  private async explain(error: NodeJS.ErrnoException): Promise<Error> {
    const { url } = this.target;
    const isBroken = error.code === 'UND_ERR_SOCKET' || error.code === 'ECONNRESET';
    if (url.protocol === 'https:' || !isBroken) return error;
    this.expectsTls ??= acceptsTls(url);
    return (await this.expectsTls) ? Object.assign(error, { code: 'ERR_TLS_EXPECTED' }) : error;
  }
}

/** The members of a JSON object; none if the text is something else. */
export function parseMembers(json: string): Readonly<Record<string, unknown>> {
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
  const delay = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return delay > 0 ? Math.min(delay, MAX_RETRY_AFTER_MS) : 0;
}

/** Whether a TLS handshake succeeds, with any certificate; sends nothing more. */
async function acceptsTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false });
  const signal = AbortSignal.timeout(TLS_CHECK_TIMEOUT_MS);
  const handshake = once(socket, 'secureConnect', { signal });
  return handshake.then(Boolean, () => false).finally(() => socket.destroy());
}

/** Why TLS failed, which a next try would too; undefined if something else did. */
function describeTlsFailure({ code = '', message }: NodeJS.ErrnoException): string | undefined {
  if (code === 'ERR_TLS_EXPECTED') return 'the service speaks HTTPS: give --url https://…';
  if (/^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)/.test(code)) {
    return 'the service speaks HTTP, not HTTPS: check --url';
  }
  // Node says these in words.
  if (/EXPIRED|NOT_YET_VALID|ALTNAME/.test(code)) return message;
  const isUntrusted = /CERT|LEAF_SIGNATURE|^ERR_TLS_/.test(code);
  return isUntrusted ? 'certificate not trusted: see NODE_EXTRA_CA_CERTS' : undefined;
}

/** Why an import stopped, in a line. */
export function describeFailure(error: unknown): string {
  return (Error.isError(error) ? describeTlsFailure(error) : undefined) ?? describeError(error);
}
