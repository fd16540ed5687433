import { subscribe } from 'node:diagnostics_channel';
import type { AddressInfo } from 'node:net';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Response } from 'express';
import { AppModule, createApp } from '../../src/app.module.js';
import { TokensService } from '../../src/auth/tokens/tokens.service.js';
import type { Config } from '../../src/config/config.js';
import { readConfig } from '../../src/config/environment.js';
import { requestEnd } from '../../src/http/request-context.js';
import { ServiceLogger } from '../../src/telemetry/logger.js';
import { Client } from './client.js';
import { createStore } from './engine.js';
import type { Nginx } from './nginx.js';
import { startProxy } from './proxied.js';
import { RawConnection } from './raw-connection.js';
import { assertSecrecy, Log, LOG_ALL, recordSecrets } from './secrecy.js';
import type { TemporaryStore } from './temporary-store.js';

/**
 * The real application in this process, with its own free port, store and token. Passport has one strategy of a name, so
 * the application that was created last authenticates the requests of all.
 */
export class Service {
  private constructor(
    readonly app: NestExpressApplication,
    readonly store: TemporaryStore,
    readonly port: number,
    readonly token: string,
    readonly client: Client,
    readonly tokens: TokensService,
    /** Its log. */
    readonly log: Log,
    private readonly proxy: Nginx | undefined,
  ) {}

  /**
   * @param env variables that override those of the tests
   * @param modules of an application that has more than the service
   * @param prepare is called before it listens
   * @param values of the configuration beyond what variables can have
   */
  static async start(
    env: Readonly<Record<string, string>> = {},
    modules: Type[] = [],
    prepare: (app: NestExpressApplication) => void = () => undefined,
    values: Partial<Config> = {},
  ): Promise<Service> {
    const store = await createStore();
    const variables = { DATABASE_URL: store.url, PORT: '0', ...LOG_ALL, ...env };
    recordSecrets(Object.values(variables).join('\n'));
    const log = new Log();
    const config: Config = Object.assign(readConfig(variables), values);
    const logger = new ServiceLogger(config, log);
    const imports = [AppModule.forRoot(config), ...modules];
    const app = await createApp(config, logger, {
      root: { module: class Root {}, imports },
    });
    prepare(app);
    await app.listen(0, '127.0.0.1');
    const address = app.getHttpServer().address() as AddressInfo;
    const proxy = await startProxy(address.port);
    const port = proxy?.port ?? address.port;
    const tokens = app.get(TokensService);
    const { secret: token } = await tokens.create('test');
    return new Service(app, store, port, token, new Client(port, token), tokens, log, proxy);
  }

  /** Opens a TCP connection. The caller closes it. */
  connect(allowHalfOpen = false): Promise<RawConnection> {
    return RawConnection.open(this.port, allowHalfOpen);
  }

  /** Sends bytes on a connection of their own. Returns the response. */
  async sendBytes(bytes: string | Buffer, request?: Parameters<RawConnection['read']>[0]) {
    using connection = await this.connect();
    return await connection.write(bytes).read(request);
  }

  /** Stops the application and removes its store. */
  async stop(): Promise<void> {
    this.client.close();
    await this.proxy?.stop();
    await this.app.close();
    await this.store.remove();
    assertSecrecy();
  }
}

/** Counts the requests of this process that have no complete response, from the call on. */
export function countInFlight(): { readonly count: number } {
  const inFlight = { count: 0 };
  // Node publishes it first. A request that is cut off at once gets no context.
  subscribe('http.server.request.start', (message) => {
    const { response } = message as { readonly response: Response };
    queueMicrotask(() => (inFlight.count += response.context ? 1 : 0));
  });
  requestEnd.subscribe(() => (inFlight.count -= 1));
  return inFlight;
}
