import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as TcpServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Config } from '../config/config.js';
import { Connections } from './connections.js';

/** The maximum time in which a stop still serves open connections. */
const MAX_DRAIN_MS = 1_000;
/** The time for clients to finish after that, unless a request may wait for the store for longer. */
const CLOSE_MS = 10_000;

/** How requests and connections end when the application is closed (docs/operating.md, "Stopping"). */
@Injectable()
export class Drain {
  /** From 'draining' on, each response closes its connection; when 'refusing', it is 503. */
  phase: 'serving' | 'stopping' | 'draining' | 'refusing' = 'serving';

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly config: Config,
    private readonly connections: Connections,
  ) {}

  /** Waits for SHUTDOWN_DELAY, accepts no more connections, gives the open ones a second, and cuts them off after a timeout. */
  async drain(): Promise<void> {
    const server = this.adapterHost.httpAdapter.getHttpServer() as Server;
    if (!server.listening) return;
    this.phase = 'stopping';
    const { databaseTimeout, shutdownDelay, shutdownTimeout } = this.config;
    // Meanwhile load balancers learn from /readyz, or from the sender of the signal, to send requests elsewhere.
    await sleep(shutdownDelay);
    this.phase = 'draining';
    this.connections.closeAfterResponses();
    const closed = once(server, 'close');
    // http.Server's own close() would end idle connections at once, and with them requests on their way.
    TcpServer.prototype.close.call(server);
    const drainMs = Math.min(MAX_DRAIN_MS, shutdownTimeout / 4);
    await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
    this.phase = 'refusing';
    const closeMs = Math.min(Math.max(CLOSE_MS, databaseTimeout), shutdownTimeout / 2);
    setTimeout(() => server.closeAllConnections(), closeMs).unref();
  }
}
