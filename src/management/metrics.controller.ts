import { Controller, Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';

@Controller('metrics')
export class MetricsController {
  constructor(private readonly registry: Registry) {}

  @Get()
  async list(@Res() response: Response): Promise<void> {
    const text = await this.registry.metrics();
    response.setHeader('Content-Type', this.registry.contentType).end(text);
  }
}
