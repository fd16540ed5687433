import { describeError, readCode } from '../errors/operator-message.js';

/** What a response that neither stores nor refuses the plant adds to its error. */
export interface Failure {
  /** Whether each further try would meet it. */
  readonly isFinal?: boolean;
  /** Milliseconds for which the service asks to wait. */
  readonly retryAfter?: number;
}

/** Codes of errors that each further try would meet: of certificates, of TLS, and of a token that no header can have. */
const FINAL_CODES =
  /CERT|LEAF_SIGNATURE|^ERR_TLS_|^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)|^UND_ERR_INVALID_ARG/;

const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: ': start the service, or name it by --url',
  ERR_TLS_CERT_ALTNAME_INVALID: '; name the host by --url as the certificate does',
};

/** Whether a try of `import` failed for a reason that stays, so that the plant is not sent again. */
export function isFinal(error: unknown): boolean {
  const { code = '', isFinal = FINAL_CODES.test(code) } = error as NodeJS.ErrnoException & Failure;
  return isFinal;
}

/** Says in one line why a try of `import` failed, and what to do. @param isFirst whether no plant has had a response yet */
export function describeFailure(error: unknown, isFirst: boolean): string {
  const code = readCode(error);
  if (code.startsWith('ERR_SSL_')) return 'the service speaks HTTP, not HTTPS: check --url';
  if (code === 'UND_ERR_INVALID_ARG')
    return 'the token has a character that no header can have: check it';
  // A service with TLS closes connections that do not begin with a handshake.
  const isClosed = isFirst && /^(UND_ERR_SOCKET|ECONNRESET)$/.test(code);
  return describeError(error) + (isClosed ? ' (is it https?)' : (ADVICE[code] ?? ''));
}
