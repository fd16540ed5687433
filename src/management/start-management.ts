import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from '../config/config.js';
import { ServiceLogger } from '../logging/service-logger.js';
import { reasonOf } from '../reason.js';
import { ManagementAdapter } from './management.adapter.js';
import { ManagementModule } from './management.module.js';
import type { Monitored } from './monitored.js';

/**
 * Starts the management listener. It is up before the store is, so that a start that waits for the
 * store can be told from one that hangs.
 *
 * @returns its application, or undefined where MANAGEMENT_PORT is `off`
 * @throws Error which names MANAGEMENT_PORT or MANAGEMENT_HOST where it cannot listen there
 */
export async function startManagement(
  config: Config,
  monitored: Monitored,
): Promise<NestExpressApplication | undefined> {
  const { managementHost, managementPort } = config;
  if (managementPort === 'off') return undefined;
  const app = await NestFactory.create<NestExpressApplication>(
    ManagementModule.forRoot(monitored),
    new ManagementAdapter(),
    // A request's body is never read.
    { bodyParser: false, abortOnError: false, logger: new ServiceLogger(config) },
  );
  for (const header of ['x-powered-by', 'etag']) app.disable(header);
  try {
    await app.listen(managementPort, managementHost);
  } catch (error) {
    throw new Error(reasonOf(error, 'MANAGEMENT_'), { cause: error });
  }
  return app;
}
