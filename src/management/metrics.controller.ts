import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';

/** Metrics, in Prometheus's text format. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly registry: Registry) {}

  @Get()
  async list(@Res() response: Response): Promise<void> {
    const text = await this.registry.metrics();
    response.setHeader('Content-Type', this.registry.contentType).end(text);
  }
}
