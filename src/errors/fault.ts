import { ERRORS, type ErrorKind } from './errors.js';

/** A fault with a row in the table of errors; `message` is what the client is told. */
export class Fault extends Error {
  constructor(
    readonly kind: ErrorKind,
    message: string = kind.message,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The store cannot be reached or written now; whether what was in flight is stored is not known. */
export class StoreUnavailable extends Fault {
  /** @param reason for the operator; the client is not told */
  constructor(
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(ERRORS.STORE_UNAVAILABLE, undefined, options);
  }
}
