/** The parts of fetch()'s answer that the client reads. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** A create failed. The plant may be stored, unless it is an {@link AnswerError} of a status 4xx. */
export class PlantStoreError extends Error {
  override readonly name: string = 'PlantStoreError';

  /** @param tries how often the plant was sent */
  constructor(
    message: string,
    readonly tries: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The service, or a proxy in front of it, answered with something other than a plant. */
export class AnswerError extends PlantStoreError {
  override readonly name = 'AnswerError';
  /** The HTTP status. */
  readonly status: number;
  /** The number of the Error body (docs/errors.md); undefined if the answer has no such body. */
  readonly error: number | undefined;
  /** `X-Request-Id` of the answer, by which the operator finds the request. */
  readonly requestId: string | undefined;
  /** What `Retry-After` asks for, in milliseconds; 0 without one. */
  readonly retryAfterMs: number;

  constructor({ status, headers }: HttpAnswer, body: string, tries: number) {
    const { error, message } = parseMembers(body);
    const isError = typeof error === 'number' && typeof message === 'string';
    super(isError ? message : `status ${status}, not from a plant store`, tries);
    this.status = status;
    this.error = isError ? error : undefined;
    this.requestId = headers.get('x-request-id') ?? undefined;
    this.retryAfterMs = parseRetryAfter(headers.get('retry-after') ?? '');
  }
}

/** Node's codes of a service that does not speak TLS. */
const NO_TLS = /^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)/;
/** Node's and OpenSSL's codes of a certificate that is not trusted. */
const TLS_FAILURE = /CERT|LEAF_SIGNATURE|^ERR_TLS_/;

/** No connection, or a broken one; `cause` is the error of fetch(). */
export class ConnectionError extends PlantStoreError {
  override readonly name: string = 'ConnectionError';
  /** The system's or OpenSSL's code, such as ECONNREFUSED, if the platform tells it. */
  readonly code: string | undefined;

  constructor(cause: unknown, tries: number, message?: string) {
    const { code, message: text } = findRootCause(cause);
    // OpenSSL's own message does not help someone who mistyped an address.
    const noTls = NO_TLS.test(String(code)) ? 'the service speaks HTTP, not HTTPS' : undefined;
    super(message ?? noTls ?? text, tries, { cause });
    this.code = typeof code === 'string' ? code : undefined;
  }

  /** Whether client and service do not agree on TLS; a retry would fail too. */
  get isTlsFailure(): boolean {
    return NO_TLS.test(this.code ?? '') || TLS_FAILURE.test(this.code ?? '');
  }
}

/** No complete answer in time. */
export class TimeoutError extends ConnectionError {
  override readonly name = 'TimeoutError';
}

/** The members of a JSON object; none if the text is something else. */
export function parseMembers(json: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(json) as object | null) };
  } catch {
    return {};
  }
}

/** The most that a Retry-After can ask for; a timer of several weeks would fire at once. */
const MAX_RETRY_AFTER_MS = 600_000;

/** Milliseconds of both forms of Retry-After, seconds and a date (RFC 9110, section 10.2.3). */
function parseRetryAfter(value: string): number {
  const isSeconds = /^\d+$/.test(value);
  const delay = isSeconds ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return delay > 0 ? Math.min(delay, MAX_RETRY_AFTER_MS) : 0;
}

/** The reason behind fetch()'s own error, which only says that it failed; the last of several addresses. */
function findRootCause(error: unknown): { readonly message: string; readonly code?: unknown } {
  const { cause, errors } = Object(error) as { cause?: unknown; errors?: unknown[] };
  const inner = cause ?? errors?.at(-1);
  if (inner !== undefined) return findRootCause(inner);
  return typeof error === 'object' && error ? (error as Error) : { message: String(error) };
}
