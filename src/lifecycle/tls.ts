import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { toOperatorMessage } from '../errors/operator-message.js';
import { certificateUsed, readKeyPair } from './key-pair.js';

const logger = new Logger('TLS');

/** The log warns of what expires within this time; so does deploy/prometheus/alerts.yaml. */
const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1_000;

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
