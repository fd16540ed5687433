import { createServer } from 'node:http';
import {
  Catch,
  Module,
  NotFoundException,
  type ArgumentsHost,
  type DynamicModule,
  type ExceptionFilter,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { TerminusModule } from '@nestjs/terminus';
import type { Express, Response } from 'express';
import type { Config } from '../config/config.js';
import { toOperatorMessage } from '../errors/describe.js';
import { Fault } from '../errors/errors.js';
import { toAnswer } from '../http/answer.js';
import { isTarget } from '../http/request-error.js';
import { survive } from '../http/server.js';
import { ServiceLogger } from '../telemetry/logger.js';
import { ManagementController } from './management.controller.js';
import { ThisProcess } from './this-process.js';

/** Milliseconds for a request to come in, and for a connection to stand idle. */
const TIMEOUT_MS = 10_000;
/** How often Node looks for who is too slow, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;
/** Connections at once: a few monitors, not a crowd. */
const MAX_CONNECTIONS = 128;

/** Nest's Express adapter over a server with limits, one of which Node takes only when it makes the server. */
class ManagementAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const limits = {
      headersTimeout: TIMEOUT_MS,
      requestTimeout: TIMEOUT_MS,
      keepAliveTimeout: TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    };
    const app = this.getInstance<Express>();
    const server = createServer(limits, (request, response) => {
      // Express would have its target parsed, too.
      if (!isTarget(request.url)) request.url = '/';
      app(request, response);
    });
    server.maxConnections = MAX_CONNECTIONS;
    // Pipelined scrapes would hold up everything else, for as many as came in at once.
    server.maxRequestsPerSocket = 1;
    survive(server);
    this.httpServer = server;
  }
}

/** Gives what is not there the service's Error body; a check that failed keeps its own. */
@Catch(NotFoundException, Fault)
class NotThereFilter implements ExceptionFilter {
  catch(fault: unknown, context: ArgumentsHost): void {
    const { status, body } = toAnswer(fault);
    context.switchToHttp().getResponse<Response>().status(status).json(body);
  }
}

/** Health and metrics, in an application of its own: never on the public port. */
@Module({})
class ManagementModule {
  static forRoot(thisProcess: ThisProcess): DynamicModule {
    return {
      module: ManagementModule,
      // A check that fails is told to those who ask, and the log has the store's transitions.
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [ManagementController],
      providers: [
        { provide: ThisProcess, useValue: thisProcess },
        { provide: APP_FILTER, useClass: NotThereFilter },
      ],
    };
  }
}

/**
 * Starts the management listener. It is up before the store is, so that a start that waits for the
 * store can be told from one that hangs.
 *
 * @throws Error which names MANAGEMENT_PORT or MANAGEMENT_HOST where it cannot listen there
 */
export async function startManagement(
  config: Config,
  thisProcess: ThisProcess,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    ManagementModule.forRoot(thisProcess),
    new ManagementAdapter(),
    // A request's body is never read.
    { bodyParser: false, abortOnError: false, logger: new ServiceLogger(config) },
  );
  for (const header of ['x-powered-by', 'etag']) app.disable(header);
  try {
    await app.listen(config.managementPort, config.managementHost);
  } catch (error) {
    throw new Error(toOperatorMessage(error, 'MANAGEMENT_'), { cause: error });
  }
  return app;
}
