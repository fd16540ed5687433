import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ThisProcess } from './this-process.js';

/** For Prometheus. */
@Controller()
export class MetricsController {
  constructor(private readonly thisProcess: ThisProcess) {}

  @Get('metrics')
  @Header('content-type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return this.thisProcess.metrics();
  }
}
