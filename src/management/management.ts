// Health and metrics, before the store is open.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger, type INestApplicationContext } from '@nestjs/common';
import { getRepositoryToken } from '@nestjs/typeorm';
import { Token } from '../auth/tokens/token.entity.js';
import { TokensService } from '../auth/tokens/tokens.service.js';
import { VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { StoreHealth } from '../database/health.js';
import { surviveAcceptErrors } from '../http/accept-errors.js';
import { describeError } from '../errors/operator-message.js';
import { ERRORS, type ErrorCode } from '../errors/error-codes.js';
import { GroupCommit, MAX_QUEUED } from '../plants/group-commit.js';
import { createMetrics } from '../telemetry/metrics.js';

/** In milliseconds. Node looks for slow clients every 30 s by default. */
const TIMEOUTS = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  keepAliveTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
};
/** Connections at once: a few monitors, not a crowd. The newest is served, the oldest ends. */
const MAX_MONITORS = 128;

/** Where the process is on its way from its start to its end, and its app, once there is one. */
export interface Lifecycle {
  phase: 'starting' | 'serving' | 'stopping';
  app?: INestApplicationContext;
}

const NO_SUCH_PATH: ErrorCode = {
  ...ERRORS.NO_SUCH_PATH,
  message: 'no such path: there are /livez, /readyz and /metrics',
};

/** The result of a check, with its details. */
type Check = { readonly status: 'up' | 'down' } & Readonly<Record<string, string | number>>;

/** Serves health and metrics on a port of their own, also before the store and the app exist. */
export class Management {
  readonly server = createServer(TIMEOUTS, (request, response) => {
    this.respond(request, response).catch((error: unknown) => {
      new Logger('Management').error(error);
      sendError(response, ERRORS.INTERNAL);
    });
  });
  private readonly sockets = new Set<Socket>();
  private readonly metrics: ReturnType<typeof createMetrics>;
  /** For who has several: which one this is. */
  private readonly store: string;

  constructor(
    private readonly config: Config,
    private readonly lifecycle: Lifecycle,
  ) {
    this.store = describeDatabase(config.databaseUrl);
    this.metrics = createMetrics(config, {
      queued: () => lifecycle.app?.get(GroupCommit).queued ?? 0,
      isStoreUp: async () => (await this.checkStore()).status === 'up',
      findTokenExpiry: () => this.findTokenExpiry(),
    });
    this.server.on('connection', (socket: Socket) => this.admit(socket));
    // Pipelined scrapes would delay everything else.
    this.server.maxRequestsPerSocket = 1;
    surviveAcceptErrors(this.server);
  }

  /** @throws Node's error where it cannot listen */
  async listen(): Promise<void> {
    const { managementPort: port, managementHost: host } = this.config;
    await once(this.server.listen({ port, host }), 'listening');
  }

  private admit(socket: Socket): void {
    const { sockets } = this;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    const [oldest] = sockets;
    if (sockets.size > MAX_MONITORS) oldest?.destroy();
  }

  private async respond({ method = '', url = '' }: IncomingMessage, response: ServerResponse) {
    const path = URL.parse(url, 'http://localhost')?.pathname ?? '';
    if (!/^\/(livez|readyz|metrics)$/.test(path)) sendError(response, NO_SUCH_PATH);
    else if (!/^(GET|HEAD)$/.test(method)) sendError(response, ERRORS.NO_SUCH_METHOD);
    // A restart would not bring the store back, so it is not checked.
    else if (path === '/livez') sendHealth(response, {});
    else if (path === '/readyz') sendHealth(response, await this.check());
    else {
      const text = await this.metrics.metrics();
      response.setHeader('Content-Type', this.metrics.contentType).end(text);
    }
  }

  private async check(): Promise<Record<string, Check>> {
    const { phase, app } = this.lifecycle;
    const { queued: plants = 0, isFull = false } = app?.get(GroupCommit) ?? {};
    return {
      service: { version: VERSION, store: this.store, status: 'up' },
      lifecycle: { phase, status: phase === 'serving' ? 'up' : 'down' },
      store: await this.checkStore(),
      queue: { plants, bound: MAX_QUEUED, status: isFull ? 'down' : 'up' },
    };
  }

  /** Checks the store. The message of an error may name the store's host, which monitors may know. */
  private async checkStore(): Promise<Check> {
    const { app } = this.lifecycle;
    if (!app) return { message: 'not open yet', status: 'down' };
    try {
      await app.get(StoreHealth).assertAvailable();
      return { status: 'up' };
    } catch (error) {
      return { message: describeError(error), status: 'down' };
    }
  }

  /** When the first token expires; undefined if none does, or the store is unavailable. */
  private async findTokenExpiry(): Promise<Date | undefined> {
    const { app } = this.lifecycle;
    if (!app || (await this.checkStore()).status === 'down') return undefined;
    const tokens = new TokensService(app.get(getRepositoryToken(Token)));
    try {
      return await app.get(StoreHealth).awaitLookup(tokens.findNextExpiry());
    } catch {
      // The next check says why.
      return undefined;
    }
  }
}

/** Responds in the form of @nestjs/terminus, which monitors know. */
function sendHealth(response: ServerResponse, checks: Record<string, Check>): void {
  const { up, down } = Object.groupBy(Object.entries(checks), ([, { status }]) => status);
  const [info, error] = [Object.fromEntries(up ?? []), Object.fromEntries(down ?? [])];
  const [code, status] = down ? [503, 'error'] : [200, 'ok'];
  response.setHeader('Cache-Control', 'no-cache, no-store, must-revalidate');
  sendBody(response, code, { status, info, error, details: { ...info, ...error } });
}

function sendError(response: ServerResponse, { status, error, message }: ErrorCode): void {
  if (status === 405) response.setHeader('Allow', 'GET, HEAD');
  sendBody(response, status, { error, message });
}

function sendBody(response: ServerResponse, status: number, body: object): void {
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8').end(JSON.stringify(body));
}
