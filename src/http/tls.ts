// The certificate of TLS_CERT_FILE and its key: read at the start, and again on SIGHUP.
import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Server } from 'node:https';
import type { Config } from '../config/config.js';
import { ConfigError, readNamedFile } from '../config/environment.js';
import { Logger } from '../database/engine.js';
import { toOperatorMessage } from '../errors/operator-message.js';

const logger = new Logger('TLS');

/** How long before its end the operator is warned of a certificate. */
const RENEWAL_NOTICE_MS = 14 * 24 * 60 * 60 * 1_000;

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

/** Publishes when the certificate in use expires; warns if it has expired, or expires soon. */
export function announceCertificate(expiresAt: Date): void {
  certificateUsed.publish(expiresAt);
  const left = expiresAt.getTime() - Date.now();
  const expires = left > 0 ? 'expires' : 'has expired:';
  const message = `the certificate of TLS_CERT_FILE ${expires} ${expiresAt.toISOString()}; renew it`;
  if (left <= 0) logger.error(message);
  else if (left <= RENEWAL_NOTICE_MS) logger.warn(message);
}

/** Reloads the pair on SIGHUP, for later connections; logs an invalid one. @param listening the server */
export function reloadKeyPairOnHangup(listening: Promise<Server>, config: Config): void {
  process.on('SIGHUP', () => void listening.then(reload));
  function reload(server: Server): void {
    try {
      const keyPair = readKeyPair(config);
      if (!keyPair) return;
      server.setSecureContext(keyPair);
      logger.log(`certificate reloaded, valid until ${keyPair.expiresAt.toISOString()}`);
      announceCertificate(keyPair.expiresAt);
    } catch (error) {
      logger.error(
        `certificate not reloaded, keeping the current one: ${toOperatorMessage(error)}`,
      );
    }
  }
}
