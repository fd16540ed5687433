import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { toOperatorMessage } from '../errors/describe.js';
import { readKeyPair } from './key-pair.js';

/**
 * Reads the certificate and its key anew on SIGHUP, for the connections that come from then on. A bad
 * pair is logged, and the one in use stays.
 */
export function reloadKeyPairOnHangup(server: Server, config: Config): void {
  const logger = new Logger('TLS');
  process.on('SIGHUP', () => {
    try {
      server.setSecureContext(readKeyPair(config) ?? {});
      logger.log('certificate reloaded');
    } catch (error) {
      logger.error(
        `certificate not reloaded, keeping the current one: ${toOperatorMessage(error)}`,
      );
    }
  });
}
