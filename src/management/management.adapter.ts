import { createServer } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express } from 'express';

/** Milliseconds for a request to come in, and for a connection to stand idle. */
const PATIENCE = 10_000;
/** How often Node looks for who is too slow, in milliseconds. */
const INTERVAL = 1_000;
/** Connections at once: a few monitors, not a crowd. */
const CONNECTIONS = 128;

/** Nest's Express adapter over a server with limits, one of which Node takes only when it makes the server. */
export class ManagementAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const limits = {
      headersTimeout: PATIENCE,
      requestTimeout: PATIENCE,
      keepAliveTimeout: PATIENCE,
      connectionsCheckingInterval: INTERVAL,
    };
    const server = createServer(limits, this.getInstance<Express>());
    server.maxConnections = CONNECTIONS;
    // Pipelined scrapes would hold up everything else, for as many as came in at once.
    server.maxRequestsPerSocket = 1;
    this.httpServer = server;
  }
}
