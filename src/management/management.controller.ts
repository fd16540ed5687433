import { Controller, Get, Res } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import { ServiceState } from './service-state.js';

@Controller()
export class ManagementController {
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
