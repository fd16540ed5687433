import { AnswerError, ConnectionError } from '../../client/plant-store-client.js';
import { describeError } from '../../errors/describe.js';

/** What TLS failed of, by Node's and OpenSSL's codes; of any other one the certificate is not trusted. */
const TLS_REASONS: Readonly<Record<string, string>> = {
  ERR_TLS_EXPECTED: 'the service speaks HTTPS: give --url https://…',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the service speaks HTTP, not HTTPS: check --url',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the service speaks HTTP, not HTTPS: check --url',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
};

/** A service's words, without what would move the cursor of a terminal or break the line. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, ' ');
}

/**
 * Why a plant has no answer, or the import no more plants, for the operator: short enough for a line of 80 columns,
 * with the line's number before it.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AnswerError && error.error !== undefined) {
    return `error ${error.error}: ${printable(error.message)}`;
  }
  if (!(error instanceof ConnectionError) || !error.isTlsFailure) return describeError(error);
  const untrusted = 'certificate not trusted: see NODE_EXTRA_CA_CERTS';
  return TLS_REASONS[error.code ?? ''] ?? untrusted;
}
