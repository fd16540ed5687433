import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Registry } from 'prom-client';
import { MONITORED, type Monitored } from './monitored.js';

/** For Prometheus. */
@Controller()
export class MetricsController {
  constructor(@Inject(MONITORED) private readonly monitored: Monitored) {}

  @Get('metrics')
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.monitored.metrics();
  }
}
