// The start of the service; cli.ts runs it, as `serve`.
import type { Server as TlsServer } from 'node:https';
import { Logger } from '@nestjs/common';
import { announce, print } from './announce.js';
import { createApp } from './app.module.js';
import { ConfigError, describeProcess, inspectConfig } from './config/environment.js';
import { readKeyPair } from './config/key-pair.js';
import { toExitCode, toOperatorMessage } from './errors/operator-message.js';
import { awaitListening, tryToListen } from './listening.js';
import { createManagement } from './management/management.module.js';
import { ServiceState } from './management/service-state.js';
import { endStartOnSignals, notifySystemd } from './shutdown.js';
import { logCrashes, ServiceLogger } from './telemetry/logger.js';
import { reloadKeyPairOnHangup } from './tls.js';

const { config, problems, warnings } = inspectConfig();

async function bootstrap(): Promise<void> {
  const logger = new ServiceLogger(config);
  Logger.overrideLogger(logger);
  logCrashes();
  for (const warning of warnings) new Logger('Configuration').warn(warning);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  const stopOnSignals = endStartOnSignals(config);
  const listening = Promise.withResolvers<TlsServer>();
  if (config.scheme === 'https') reloadKeyPairOnHangup(listening.promise, config);
  print(describeProcess(config), config);
  // What is wrong shows before health is announced, and before a store is made. createApp() reads the pair again.
  readKeyPair(config);
  await tryToListen(config);

  const management = config.managementPort === 'off' ? undefined : await createManagement(config);
  if (management) {
    await awaitListening(
      management.listen(config.managementPort, config.managementHost),
      'MANAGEMENT_',
    );
    print(`Management: ${await management.getUrl()}`, config);
  }

  const app = await createApp(config, logger);
  management?.get(ServiceState).watch(app);
  await awaitListening(app.listen(config.port, config.host));
  stopOnSignals(app);
  listening.resolve(app.getHttpServer() as TlsServer);
  notifySystemd('READY=1');
  // If the store fails now, its health says so.
  await announce(app, config).catch(() => undefined);
}

try {
  await bootstrap();
} catch (error) {
  // As lines of the log in production, else as other commands do.
  const logger = new ServiceLogger(config, process.stderr);
  for (const line of toOperatorMessage(error).split('\n'))
    if (config.production) logger.fatal(line, 'PlantStore');
    else process.stderr.write(`error: ${line}\n`);
  process.exit(toExitCode(error));
}
