// The start of the service; cli.ts runs it, as `serve`.
import { once } from 'node:events';
import type { Server } from 'node:https';
import { createServer } from 'node:net';
import { Logger, type INestApplication } from '@nestjs/common';
import { createApp } from './app.module.js';
import { ConfigError, describeProcess, inspectConfig } from './config/environment.js';
import { describeError, toExitCode, toOperatorMessage } from './errors/operator-message.js';
import { announce, notifySystemd, print, warnOfOpenFiles } from './lifecycle/announce.js';
import { endStartOnSignals } from './lifecycle/shutdown.js';
import { reloadKeyPairOnHangup } from './lifecycle/tls.js';
import { ServiceState } from './management/service-state.js';
import { logCrashes, ServiceLogger } from './telemetry/logger.js';

const { config, problems, warnings } = inspectConfig();

async function bootstrap(): Promise<void> {
  const logger = new ServiceLogger(config);
  Logger.overrideLogger(logger);
  logCrashes();
  for (const warning of warnings) new Logger('Configuration').warn(warning);
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  warnOfOpenFiles();
  const stopOnSignals = endStartOnSignals(config);
  const server: PromiseWithResolvers<Server> = Promise.withResolvers();
  if (config.scheme === 'https') reloadKeyPairOnHangup(config, server.promise);
  print(describeProcess(config), config);

  let management: INestApplication | undefined;
  if (config.managementPort !== 'off') {
    const { createManagement } = await import('./management/management.module.js');
    management = await createManagement(config);
    const { managementPort, managementHost } = config;
    await explainPort(management.listen(managementPort, managementHost), 'MANAGEMENT_');
    const url = await management.getUrl();
    print(`Management: ${url}/readyz, ${url}/metrics`, config);
  }

  await explainPort(tryToListen());
  const app = await createApp(config, logger);
  server.resolve(app.getHttpServer() as Server);
  management?.get(ServiceState).attach(app);
  await explainPort(app.listen(config.port, config.host));
  stopOnSignals(app);
  notifySystemd();
  // If the store fails now, its health says so.
  await announce(app, config).catch(() => undefined);
}

/** If the port is taken, fails before the store is created or migrated. */
async function tryToListen(): Promise<void> {
  await using server = createServer((socket) => socket.destroy());
  server.listen({ port: config.port, host: config.host });
  await once(server, 'listening');
}

/** @throws Error that names PORT and HOST, with this prefix, if a server cannot listen */
async function explainPort(listening: Promise<unknown>, prefix = ''): Promise<void> {
  await listening.catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    const perhaps = code === 'EADDRINUSE' ? 'perhaps the service runs already; else ' : '';
    const advice = code === 'EACCES' ? ', or permit it (docs/operating.md#tls)' : '';
    const rule = `${perhaps}set another ${prefix}PORT or ${prefix}HOST${advice}`;
    throw new Error(`${describeError(cause)}: ${rule}`, { cause });
  });
}

try {
  await bootstrap();
} catch (error) {
  // In production whoever reads the log finds the reason there. Elsewhere a person reads the terminal.
  const logger = new ServiceLogger(config, process.stderr);
  for (const line of toOperatorMessage(error).split('\n'))
    if (config.production) logger.fatal(line, 'PlantStore');
    else process.stderr.write(`error: ${line}\n`);
  process.exit(toExitCode(error));
}
