import type { ErrorKind } from './errors.js';

/** A fault with a row in the table of errors; `message` is what the client is told. */
export class Fault extends Error {
  constructor(
    readonly kind: ErrorKind,
    message: string = kind.message,
  ) {
    super(message);
  }
}
