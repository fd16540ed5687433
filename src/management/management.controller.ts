import { Controller, Get, Header, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Registry } from 'prom-client';
import { ServiceState, type Check } from './service-state.js';

const NO_CACHE = 'no-cache, no-store, must-revalidate';

/** Health, in the form of @nestjs/terminus, which monitors know, and metrics. */
@Controller()
export class ManagementController {
  constructor(
    private readonly state: ServiceState,
    private readonly registry: Registry,
  ) {}

  /** A restart would not bring the store back, so it is not checked. */
  @Get('livez')
  @Header('Cache-Control', NO_CACHE)
  live() {
    return summarize({});
  }

  @Get('readyz')
  @Header('Cache-Control', NO_CACHE)
  async ready(@Res({ passthrough: true }) response: Response) {
    const summary = summarize(await this.state.check());
    response.status(summary.status === 'ok' ? 200 : 503);
    return summary;
  }

  @Get('metrics')
  async list(@Res() response: Response): Promise<void> {
    const text = await this.registry.metrics();
    response.setHeader('Content-Type', this.registry.contentType).end(text);
  }
}

function summarize(checks: Record<string, Check>) {
  const { up, down } = Object.groupBy(Object.entries(checks), ([, { status }]) => status);
  const [info, error] = [Object.fromEntries(up ?? []), Object.fromEntries(down ?? [])];
  return { status: down ? 'error' : 'ok', info, error, details: { ...info, ...error } };
}
