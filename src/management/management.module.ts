// Health and metrics on a port of their own: a second application, which works before the store is open.
import {
  Catch,
  Controller,
  Get,
  Module,
  Res,
  ServiceUnavailableException,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import type { NextFunction, Request, Response } from 'express';
import { Registry } from 'prom-client';
import { Config } from '../config/config.js';
import { respondToClientErrors } from '../http/client-errors.js';
import { Connections } from '../http/connections.js';
import { ErrorFilter } from '../http/error.filter.js';
import { PlantStoreAdapter } from '../http/plant-store.adapter.js';
import { Routes } from '../http/routes.js';
import { createMetrics } from './metrics.js';
import { ServiceState } from './service-state.js';

/** Sends the report of Terminus on what is down. Every other error has an Error body, as on the public port. */
@Catch(ServiceUnavailableException)
class ReportFilter extends BaseExceptionFilter {}

@Controller()
@UseFilters(ReportFilter)
class ManagementController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly state: ServiceState,
    private readonly registry: Registry,
  ) {}

  /** A restart would not bring the store back, so it is not checked. */
  @Get('livez')
  @HealthCheck()
  live() {
    return this.health.check([]);
  }

  @Get('readyz')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.state.check()]);
  }

  @Get('metrics')
  async list(@Res() response: Response): Promise<void> {
    const text = await this.registry.metrics();
    response.setHeader('Content-Type', this.registry.contentType).end(text);
  }
}

@Module({
  // Terminus would log at each request what inspection.ts and shutdown.ts log once.
  imports: [TerminusModule.forRoot({ logger: false })],
  controllers: [ManagementController],
  providers: [
    Routes,
    ServiceState,
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: Registry, inject: [ServiceState], useFactory: createMetrics },
  ],
})
class ManagementModule {}

/** Creates the application; its {@link ServiceState} is later attached to the service. */
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
  // A few monitors connect here, and no crowd.
  Object.assign(app.getHttpServer(), { maxConnections: 128, maxRequestsPerSocket: 1 });
  respondToClientErrors(app.getHttpServer(), new Connections());
  return app;
}
