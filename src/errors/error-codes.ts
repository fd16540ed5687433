/** One kind of error: a row of the table of error numbers. */
export interface ErrorCode {
  /** The `error` member of the Error body: an int32 that is stable forever. */
  readonly error: number;
  /** The HTTP status of the response. */
  readonly status: number;
  /** The `message` member, unless the error has a more exact one. */
  readonly message: string;
  /** Headers of the response besides those of every response. */
  readonly headers?: Readonly<Record<string, string>>;
}

const REALM = 'Bearer realm="plant-store"';
const RETRY = { 'retry-after': '1' } as const;

/**
 * Every error that the service responds with: the one table of numbers. `docs/errors.md` shows it to
 * users, and a test compares the two. A number is never reused.
 */
export const ERRORS = {
  INVALID_JSON: { error: 1000, status: 400, message: 'the body is not valid JSON' },
  MEDIA_TYPE: {
    error: 1001,
    status: 400,
    message: 'the media type is not application/json: send `Content-Type: application/json`',
  },
  TOO_LARGE: { error: 1002, status: 400, message: 'the body is larger than the limit' },
  INVALID_PLANT: { error: 1003, status: 400, message: 'the plant does not match the schema' },
  ID_TAKEN: {
    error: 1004,
    status: 400,
    message: 'the id already exists with different content, and plants cannot be changed',
  },
  // RFC 6750, section 3: no error code where the request carried no token at all.
  NO_TOKEN: {
    error: 2000,
    status: 401,
    message: 'no bearer token: send `Authorization: Bearer TOKEN`',
    headers: { 'www-authenticate': REALM },
  },
  // One message for malformed, unknown, expired and revoked: the response helps nobody to guess.
  INVALID_TOKEN: {
    error: 2001,
    status: 401,
    message: 'invalid or expired token',
    headers: { 'www-authenticate': `${REALM}, error="invalid_token"` },
  },
  // RFC 6750, section 3.1; the scope that is lacking is added where it is known.
  INSUFFICIENT_SCOPE: {
    error: 2002,
    status: 403,
    message: 'the token lacks the scope',
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope"` },
  },
  NO_SUCH_PATH: { error: 3000, status: 404, message: 'no such path' },
  // Its Allow, and what the message adds, are the path's: src/openapi/method-not-allowed.filter.ts.
  NO_SUCH_METHOD: { error: 3001, status: 405, message: 'method not allowed' },
  BAD_REQUEST: { error: 3002, status: 400, message: 'the request is not valid HTTP' },
  // RFC 9112, section 6.1.
  NO_SUCH_CODING: {
    error: 3003,
    status: 501,
    message: 'unsupported transfer coding: send `chunked`, or a Content-Length',
  },
  // RFC 9110, section 15.5.9: not 400, which clients take as final.
  REQUEST_TIMEOUT: { error: 3004, status: 408, message: 'the request did not arrive in time' },
  // Its Retry-After is that of the token's limit: src/auth/rate-limit.guard.ts.
  RATE_LIMITED: { error: 4000, status: 429, message: 'over the rate limit of the token' },
  INTERNAL: { error: 5000, status: 500, message: 'internal error' },
  STORE_UNAVAILABLE: {
    error: 5001,
    status: 503,
    message: 'the store is unavailable',
    headers: RETRY,
  },
  OVERLOADED: { error: 5002, status: 503, message: 'overloaded', headers: RETRY },
  SHUTTING_DOWN: { error: 5003, status: 503, message: 'shutting down', headers: RETRY },
  IDENTITY_PROVIDER_UNAVAILABLE: {
    error: 5004,
    status: 503,
    message: 'the identity provider is unavailable',
    headers: RETRY,
  },
} as const satisfies Record<string, ErrorCode>;

/** The number of an HttpException, Nest's or of code added later: its status and its message are its own. */
export const HTTP_EXCEPTION = 3005;

/** Members of a request's line in the log, for the operator. */
export type LogMembers = Readonly<Record<string, string | undefined>>;

/** An error with a row in the table. The client gets its `message`. */
export class ApiException extends Error {
  /** What the log says of it in the request's line. */
  readonly details: LogMembers | undefined;

  constructor(
    readonly kind: ErrorCode,
    message: string = kind.message,
    options: ErrorOptions & { readonly details?: LogMembers } = {},
  ) {
    super(message, options);
    this.details = options.details;
  }
}

/** The store cannot be reached or written now. Plants in flight may or may not be stored. */
export class StoreUnavailableException extends ApiException {
  /** @param reason for the operator, not for the client */
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(ERRORS.STORE_UNAVAILABLE, undefined, options);
  }
}
