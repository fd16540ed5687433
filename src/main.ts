import { isIPv6, type AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp } from './app.js';
import { createFirstToken } from './auth/first-token.js';
import { TokensService } from './auth/tokens.service.js';
import { readConfig } from './config/read-config.js';
import type { Config } from './config/config.js';
import { reasonOf } from './reason.js';

/** Starts the service. SIGTERM and SIGINT end it, once every accepted request has its answer. */
async function start(): Promise<void> {
  const config = readConfig();
  const app = await createApp(config);
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  await app.listen(config.port, config.host);
  await announce(app, config);
}

/** Tells the operator where the service is, and in development how to send it a first plant. */
async function announce(app: NestExpressApplication, config: Config): Promise<void> {
  const { address, port } = app.getHttpServer().address() as AddressInfo;
  const url = `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
  const say = config.production ? (line: string) => new Logger('PlantStore').log(line) : print;
  say(`Plant store: ${url}/plants`);
  if (config.docs) say(`Documentation: ${url}/docs`);
  const secret = config.production ? undefined : await createFirstToken(app.get(TokensService));
  if (secret === undefined) return;
  print(`\nThe store has no token yet. Here is one; it is shown only now:\n\n  ${secret}\n`);
  print('Store a plant:\n');
  print(
    `  curl ${url}/plants -H 'Authorization: Bearer ${secret}' \\\n` +
      `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await start();
} catch (error) {
  process.stderr.write(`${reasonOf(error)}\n`);
  process.exit(1);
}
