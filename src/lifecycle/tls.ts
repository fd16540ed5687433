import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { toOperatorMessage } from '../errors/operator-message.js';
import { certificateUsed, readKeyPair } from './key-pair.js';

const logger = new Logger('TLS');

/** Tells the log and the metrics when the certificate in use expires; an alert asks for its renewal. */
export function announceCertificate(expiresAt: Date): void {
  certificateUsed.publish(expiresAt);
  logger.log(`the certificate of TLS_CERT_FILE expires ${expiresAt.toISOString()}`);
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
