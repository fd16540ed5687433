import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Config } from '../config/config.js';
import { toOperatorMessage } from '../errors/describe.js';
import { ServiceLogger } from '../telemetry/logger.js';
import { ManagementAdapter } from './management.adapter.js';
import { ManagementModule } from './management.module.js';
import type { ThisProcess } from './this-process.js';

/**
 * Starts the management listener. It is up before the store is, so that a start that waits for the
 * store can be told from one that hangs.
 *
 * @throws Error which names MANAGEMENT_PORT or MANAGEMENT_HOST where it cannot listen there
 */
export async function startManagement(
  config: Config,
  thisProcess: ThisProcess,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    ManagementModule.forRoot(thisProcess),
    new ManagementAdapter(),
    // A request's body is never read.
    { bodyParser: false, abortOnError: false, logger: new ServiceLogger(config) },
  );
  for (const header of ['x-powered-by', 'etag']) app.disable(header);
  try {
    await app.listen(config.managementPort, config.managementHost);
  } catch (error) {
    throw new Error(toOperatorMessage(error, 'MANAGEMENT_'), { cause: error });
  }
  return app;
}
