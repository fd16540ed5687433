import { All, Controller, Get, Header } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { Registry } from 'prom-client';
import { ERRORS, Fault } from '../errors/errors.js';
import { ThisProcess } from './this-process.js';

/** For those who decide whether to restart this service or to send it requests, and for Prometheus. */
@Controller()
export class ManagementController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly thisProcess: ThisProcess,
  ) {}

  /** The process answers; whether the store does is no reason to restart it. */
  @Get('livez')
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  live() {
    return this.health.check([]);
  }

  /** @throws ServiceUnavailableException, 503, where a check fails, with each check in its body */
  @Get('readyz')
  @HealthCheck({ noCache: true, swaggerDocumentation: false })
  ready() {
    return this.health.check([() => this.thisProcess.health()]);
  }

  @Get('metrics')
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.thisProcess.metrics();
  }

  /** @throws Fault, 405: GET alone, and with it HEAD, has a route above */
  @All(['livez', 'readyz', 'metrics'])
  @Header('allow', 'GET, HEAD')
  refuse(): never {
    throw new Fault(ERRORS.NO_SUCH_METHOD);
  }
}
