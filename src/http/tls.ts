import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { ConfigError, readNamedFile } from '../config/environment.js';
import { EXPIRES_SOON_MS, toOperatorMessage } from '../errors/operator-message.js';

const logger = new Logger('TLS');

/** A certificate with its chain, and its private key, both in PEM. */
interface KeyPair {
  readonly cert: string;
  readonly key: string;
  readonly expiresAt: Date;
  /** Without renegotiation (TLS 1.2): a client could send 128 KiB of it, which OpenSSL keeps twice. */
  readonly secureOptions: number;
}

/** Whether the service speaks TLS itself. */
export function speaksTls({ tlsCertFile }: Config): boolean {
  return tlsCertFile !== undefined;
}

/**
 * Reads the files of TLS_CERT_FILE and TLS_KEY_FILE; undefined where the service does not speak TLS itself.
 *
 * @throws ConfigError where a file cannot be read, or the two are no pair
 */
export function readKeyPair({ tlsCertFile, tlsKeyFile }: Config): KeyPair | undefined {
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
  const expiresAt = certificate.validToDate;
  return { cert, key, expiresAt, secureOptions: constants.SSL_OP_NO_RENEGOTIATION };
}

/** @throws ConfigError with the message, if the text of a file is not what it must be */
function parsePem<Value>(parse: () => Value, message: string): Value {
  try {
    return parse();
  } catch (cause) {
    throw new ConfigError(message, { cause });
  }
}

/** Publishes when the certificate in use expires, at the start and after each reload. */
export const certificateUsed = channel<Date>('plant-store.http.certificate');

/** To be called when a certificate is in use; warns if it has expired, or expires soon. */
export function announceCertificate({ expiresAt }: KeyPair): void {
  certificateUsed.publish(expiresAt);
  const left = expiresAt.getTime() - Date.now();
  const expires = left > 0 ? 'expires' : 'has expired:';
  const message = `the certificate of TLS_CERT_FILE ${expires} ${expiresAt.toISOString()}; renew it`;
  if (left <= 0) logger.error(message);
  else if (left <= EXPIRES_SOON_MS) logger.warn(message);
}

/**
 * Reloads the certificate and its key on SIGHUP, for later connections. A bad pair is logged, and the one in use stays.
 *
 * @param listening the server once it listens: what was signalled before is done then
 */
export function reloadKeyPairOnHangup(listening: Promise<Server>, config: Config): void {
  process.on('SIGHUP', () => void listening.then(reload));
  function reload(server: Server): void {
    try {
      const keyPair = readKeyPair(config);
      if (!keyPair) return;
      server.setSecureContext(keyPair);
      logger.log(`certificate reloaded, valid until ${keyPair.expiresAt.toISOString()}`);
      announceCertificate(keyPair);
    } catch (error) {
      logger.error(
        `certificate not reloaded, keeping the current one: ${toOperatorMessage(error)}`,
      );
    }
  }
}
