import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import type { Config } from './config/config.js';
import { certificateUsed, readKeyPair } from './config/key-pair.js';
import { toOperatorMessage } from './errors/operator-message.js';

const logger = new Logger('TLS');

/** How long before its end the operator is warned of a certificate. */
const RENEWAL_NOTICE_MS = 14 * 24 * 60 * 60 * 1_000;

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
