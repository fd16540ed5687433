import type { Server } from 'node:http';
import { Logger } from '@nestjs/common';

const LOG_INTERVAL_MS = 10_000;

/** Logs connections that cannot be accepted, because of EMFILE for example, instead of ending the process. */
export function surviveAcceptErrors(server: Server): void {
  let mayLogAt = 0;
  server.on('error', (error) => {
    // The caller handles the error of a server that does not listen yet.
    if (!server.listening || performance.now() < mayLogAt) return;
    mayLogAt = performance.now() + LOG_INTERVAL_MS;
    new Logger('Http').error(`a connection was not accepted: ${error.message}`);
  });
}
