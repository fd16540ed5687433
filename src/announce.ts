import { isIPv6, type AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { TokensService } from './auth/tokens.service.js';
import type { Config } from './config/config.js';
import { describeProcess } from './config/describe.js';
import { speaksTls } from './http/key-pair.js';

/** Tells the operator where the service is, and in development how to send it a first plant. */
export async function announce(app: NestExpressApplication, config: Config): Promise<void> {
  const url = `${speaksTls(config) ? 'https' : 'http'}://${placeOf(app)}`;
  const say = sayerOf(config);
  say(`Plant store: ${url}/plants`);
  if (config.docs) say(`Documentation: ${url}/docs`);
  const secret = config.production ? undefined : await app.get(TokensService).createFirst();
  if (secret === undefined) return;
  print(`\nThe store has no token yet. Here is one; it is shown only now:\n\n  ${secret}\n`);
  print('Store a plant:\n');
  print(
    `  curl ${url}/plants -H 'Authorization: Bearer ${secret}' \\\n` +
      `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n`,
  );
}

/** Tells the operator which store it is, before it is opened. */
export function announceStore(config: Config): void {
  sayerOf(config)(describeProcess(config));
}

/** Tells the operator where health and metrics are. */
export function announceManagement(app: NestExpressApplication, config: Config): void {
  sayerOf(config)(`Management: http://${placeOf(app)}`);
}

function sayerOf({ production }: Config): (line: string) => void {
  return production ? (line) => new Logger('PlantStore').log(line) : print;
}

function placeOf(app: NestExpressApplication): string {
  const { address, port } = app.getHttpServer().address() as AddressInfo;
  return `${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
