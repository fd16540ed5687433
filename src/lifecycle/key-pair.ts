import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/config.js';
import { readNamedFile } from '../config/environment.js';

/** Publishes when the certificate in use expires, at the start and after each reload. */
export const certificateUsed = channel<Date>('plant-store.certificate');

/** The list has the ciphers of TLS 1.3, and those that deploy/nginx allows for TLS 1.2. */
const CIPHERS =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

class KeyMismatch extends Error {
  readonly reason = 'the key is not that of the certificate';
}

/**
 * Reads TLS_CERT_FILE and TLS_KEY_FILE; undefined without TLS. @throws Error if the two are no pair, no ConfigError: in the
 * middle of a renewal another start helps
 */
export function readKeyPair({ tlsCertFile, tlsKeyFile }: Config) {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  const cert = readNamedFile('TLS_CERT_FILE', tlsCertFile);
  const key = readNamedFile('TLS_KEY_FILE', tlsKeyFile);
  try {
    const certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new KeyMismatch();
    // The server will do the same, which also refuses small keys and damaged certificates of the chain.
    createSecureContext({ cert, key });
    // A client could send 128 KiB in a renegotiation of TLS 1.2, which OpenSSL keeps twice.
    const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
    return { cert, key, ciphers: CIPHERS, secureOptions, expiresAt: certificate.validToDate };
  } catch (cause) {
    // OpenSSL gives its errors a reason, such as `ee key too small`.
    const { reason } = cause as { readonly reason?: string };
    const names = `${tlsCertFile} and ${tlsKeyFile}${reason ? ` (${reason})` : ''}`;
    throw new Error(
      `TLS_CERT_FILE and TLS_KEY_FILE must be a pair: a certificate and its private key without a passphrase, both in PEM, not ${names}`,
      { cause },
    );
  }
}
