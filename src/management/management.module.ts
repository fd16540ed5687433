// Health and metrics on a port of their own: a second application, which works before the store is open.
import { Catch, Logger, Module, NotFoundException } from '@nestjs/common';
import type { ArgumentsHost, ExceptionFilter } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { Registry } from 'prom-client';
import { Config } from '../config/config.js';
import { ApiException, ERRORS } from '../errors/error-codes.js';
import { sendError } from '../http/error.filter.js';
import { PlantStoreAdapter } from '../http/plant-store.adapter.js';
import { createMetrics } from '../telemetry/metrics.js';
import { ManagementController } from './management.controller.js';
import { ServiceState } from './service-state.js';

const PATHS = /^\/(livez|readyz|metrics)$/;
const NO_SUCH_PATH = 'no such path: there are /livez, /readyz and /metrics';
const ALLOW = { allow: 'GET, HEAD' };

/** Node's limits for a server: a few monitors, not a crowd, whose connections could keep the monitors out. */
const LIMITS = {
  headersTimeout: 2_000,
  requestTimeout: 2_000,
  maxConnections: 128,
  maxRequestsPerSocket: 1,
};

@Module({
  controllers: [ManagementController],
  providers: [
    ServiceState,
    { provide: Registry, inject: [Config, ServiceState], useFactory: createMetrics },
  ],
})
class ManagementModule {}

@Catch()
class ManagementFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    if (!(error instanceof NotFoundException)) {
      new Logger('Management').error(error);
      sendError(response, new ApiException(ERRORS.INTERNAL));
    } else if (PATHS.test(http.getRequest<Request>().path))
      sendError(response, new ApiException({ ...ERRORS.NO_SUCH_METHOD, headers: ALLOW }));
    else sendError(response, new ApiException(ERRORS.NO_SUCH_PATH, NO_SUCH_PATH));
  }
}

/** Creates the application. Its {@link ServiceState} is to be told of that of the service. */
export async function createManagement(config: Config): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    { module: ManagementModule, providers: [{ provide: Config, useValue: config }] },
    new PlantStoreAdapter(config),
    { bodyParser: false, abortOnError: false },
  );
  // With maxRequestsPerSocket Node sends this header too, but waits for the client to close the connection.
  app.use((_request: Request, response: Response, next: NextFunction) => {
    response.setHeader('connection', 'close');
    next();
  });
  app.useGlobalFilters(new ManagementFilter());
  Object.assign(app.getHttpServer(), LIMITS);
  return app;
}
