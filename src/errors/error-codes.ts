type Headers = Readonly<Record<string, string>>;

export interface ErrorCode {
  /** The `error` member of the Error body: an int32 that is stable forever. */
  readonly error: number;
  readonly status: number;
  /** The `message` member, unless the error has a more exact one. */
  readonly message: string;
  readonly headers?: Headers;
}

function row(error: number, status: number, message: string, headers: Headers = {}) {
  return { error, status, message, headers } satisfies ErrorCode;
}

/** Makes the header that asks for a token. It has no code if the request carried no token at all (RFC 6750, section 3). */
function challenge(code?: string): Headers {
  const realm = 'Bearer realm="plant-store"';
  return { 'www-authenticate': code === undefined ? realm : `${realm}, error="${code}"` };
}

const RETRY = { 'retry-after': '1' };

/** The one table of error numbers (docs/errors.md). A number is never reused. */
export const ERRORS = {
  INVALID_JSON: row(1000, 400, 'the body is not valid JSON'),
  MEDIA_TYPE: row(
    1001,
    400,
    'the media type is not application/json: send `Content-Type: application/json`',
  ),
  TOO_LARGE: row(1002, 400, 'the body is larger than the limit'),
  INVALID_PLANT: row(1003, 400, 'the plant does not match the schema'),
  ID_TAKEN: row(
    1004,
    400,
    'the id already exists with different content, and plants cannot be changed',
  ),
  NO_TOKEN: row(2000, 401, 'no bearer token: send `Authorization: Bearer TOKEN`', challenge()),
  // One message for malformed, unknown, expired and revoked: the response helps nobody to guess.
  INVALID_TOKEN: row(2001, 401, 'invalid or expired token', challenge('invalid_token')),
  // The scope that is lacking is added where it is known.
  INSUFFICIENT_SCOPE: row(2002, 403, 'the token lacks the scope', challenge('insufficient_scope')),
  NO_SUCH_PATH: row(3000, 404, 'no such path'),
  NO_SUCH_METHOD: row(3001, 405, 'method not allowed'),
  BAD_REQUEST: row(3002, 400, 'the request is not valid HTTP'),
  // RFC 9112, section 6.1, asks for 501 here.
  NO_SUCH_CODING: row(
    3003,
    501,
    'unsupported transfer coding: send `chunked`, or a Content-Length',
    { connection: 'close' },
  ),
  // Clients take a 400 as final, and may repeat a 408 (RFC 9110, section 15.5.9). The times are set in plant-store.adapter.ts.
  REQUEST_TIMEOUT: row(
    3004,
    408,
    'the request did not arrive in time: 10 s for its headers, 30 s for all of it',
  ),
  // The guard adds a Retry-After by the token's limit (src/auth/rate-limit.guard.ts).
  RATE_LIMITED: row(4000, 429, 'over the rate limit of the token'),
  INTERNAL: row(5000, 500, 'internal error'),
  STORE_UNAVAILABLE: row(5001, 503, 'the store is unavailable', RETRY),
  OVERLOADED: row(5002, 503, 'overloaded', RETRY),
  SHUTTING_DOWN: row(5003, 503, 'shutting down', RETRY),
  IDENTITY_PROVIDER_UNAVAILABLE: row(5004, 503, 'the identity provider is unavailable', {
    // The provider is asked for its keys again after this time (src/auth/jwt/provider-keys.ts).
    'retry-after': '5',
  }),
};

/** The number of an HttpException, Nest's or of code added later: its status and its message are its own. */
export const HTTP_EXCEPTION = 3005;

/** Members of a request's line in the log, for the operator. */
export type LogMembers = Readonly<Record<string, string | undefined>>;

/** An error with a row in the table. The client gets its `message`. */
export class ApiException extends Error {
  /** What the line of its request says of it in the log. */
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

/** A token is invalid or expired. The reason is in the request's line of the log, not in the response. */
export class InvalidTokenException extends ApiException {
  /** @param principal who the token belongs to, if known */
  constructor(reason: string, principal?: { readonly id: string; readonly name: string }) {
    const details = { tokenId: principal?.id, tokenName: principal?.name, reason };
    super(ERRORS.INVALID_TOKEN, undefined, { details });
  }
}
