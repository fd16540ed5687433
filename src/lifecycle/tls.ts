import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Config } from '../config/config.js';
import { readNamedFile } from '../config/environment.js';
import { Logger } from '../database/engine.js';
import { toOperatorMessage } from '../errors/operator-message.js';

/** Operators are warned of a certificate that expires within this time; so does deploy/prometheus/alerts.yaml. */
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1_000;

const logger = new Logger('TLS');

/** Publishes when the certificate in use expires, at the start and after each reload. */
export const certificateUsed = channel<Date>('plant-store.certificate');

/** The list has the ciphers of TLS 1.3, and those that deploy/nginx allows for TLS 1.2. */
const CIPHERS =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20';

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
    if (!certificate.checkPrivateKey(createPrivateKey(key)))
      throw Object.assign(new Error(), { reason: 'the key is not that of the certificate' });
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
      `TLS_CERT_FILE and TLS_KEY_FILE must be a pair: a certificate and its private key without a passphrase, both in PEM, not ${names}: put both files of one renewal there; until then a restart fails`,
      { cause },
    );
  }
}

/** Tells the log and the metrics when the certificate in use expires; an alert asks for its renewal. */
export function announceCertificate(expiresAt: Date): void {
  certificateUsed.publish(expiresAt);
  logExpiry('TLS_CERT_FILE', expiresAt, 'renew it, then `systemctl reload plant-store` (SIGHUP)');
}

/** Tells the log when the certificate expires that PostgreSQL knows this service by, if DATABASE_URL names one. */
export function announceClientCertificate({ databaseUrl }: Config): void {
  const file = new URLSearchParams(databaseUrl.split('?')[1]).get('sslcert');
  if (file === null) return;
  const name = 'DATABASE_URL (sslcert)';
  try {
    const { validToDate } = new X509Certificate(readFileSync(file));
    logExpiry(name, validToDate, 'replace the file, which new sessions read');
  } catch (error) {
    logger.warn(`the certificate of ${name} cannot be read: ${toOperatorMessage(error)}`);
  }
}

function logExpiry(name: string, expiresAt: Date, cure: string): void {
  const text = `the certificate of ${name} expires ${expiresAt.toISOString()}`;
  if (expiresAt.getTime() < Date.now() + EXPIRES_SOON_MS) logger.warn(`${text}: ${cure}`);
  else logger.log(text);
}

/** Reloads the pair on SIGHUP, for later connections; logs an invalid one. A signal before there is a server waits for it. */
export function reloadKeyPairOnHangup(config: Config, server: Promise<Server>): void {
  process.on('SIGHUP', () => void server.then((created) => reloadKeyPair(config, created)));
}

function reloadKeyPair(config: Config, server: Server): void {
  try {
    const keyPair = readKeyPair(config);
    if (!keyPair) return;
    server.setSecureContext(keyPair);
    logger.log('certificate reloaded');
    announceCertificate(keyPair.expiresAt);
  } catch (error) {
    const reason = toOperatorMessage(error);
    logger.error(`certificate not reloaded, keeping the current one: ${reason}`);
  }
}
