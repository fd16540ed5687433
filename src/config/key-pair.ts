import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Config } from './config.js';
import { ConfigError, readNamedFile } from './environment.js';

/** Publishes when the certificate in use expires, at the start and after each reload. */
export const certificateUsed = channel<Date>('plant-store.certificate');

/** Reads TLS_CERT_FILE and TLS_KEY_FILE; undefined without TLS. @throws ConfigError if the two are no pair */
export function readKeyPair({ tlsCertFile, tlsKeyFile }: Config) {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  const cert = readNamedFile('TLS_CERT_FILE', tlsCertFile);
  const key = readNamedFile('TLS_KEY_FILE', tlsKeyFile);
  const certificate = parsePem(
    () => new X509Certificate(cert),
    `TLS_CERT_FILE must name a file with a certificate in PEM, not ${tlsCertFile}`,
  );
  const privateKey = parsePem(
    () => createPrivateKey(key),
    `TLS_KEY_FILE must name a file with a private key in PEM, not ${tlsKeyFile}`,
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    const names = `${tlsKeyFile} is not the key of the certificate ${tlsCertFile}`;
    throw new ConfigError(`TLS_CERT_FILE and TLS_KEY_FILE must be a pair: ${names}`);
  }
  // Renegotiation (TLS 1.2): a client could send 128 KiB of it, which OpenSSL keeps twice.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  return { cert, key, secureOptions, expiresAt: certificate.validToDate };
}

/** @throws ConfigError with the message, if the text of a file is not what it must be */
function parsePem<Value>(parse: () => Value, message: string): Value {
  try {
    return parse();
  } catch (cause) {
    throw new ConfigError(message, { cause });
  }
}
