// What a start tells the operator: where the service is, its first token, and tokens that expire soon.
import { execFile } from 'node:child_process';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { isActive, listExpiring, type Token } from '../auth/tokens/token.entity.js';
import { TokensService } from '../auth/tokens/tokens.service.js';
import { COMMAND, type Config } from '../config/config.js';
import { announceClientCertificate } from './tls.js';

/** Prints a line for the operator: to the log in production, else to stdout as it is. */
export function print(line: string, { production }: Config): void {
  if (production) new Logger('PlantStore').log(line);
  else process.stdout.write(`${line}\n`);
}

/** They suffice for 256 connections, each with a file of the page, 128 of monitors, the store and Node.js. */
const MIN_OPEN_FILES = 768;

/** Warns if this process may not open all the files that its connections can need. */
export function warnOfOpenFiles(): void {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits: { readonly open_files: { readonly soft: number | 'unlimited' } };
  };
  const { soft } = userLimits.open_files;
  if (Number(soft) < MIN_OPEN_FILES)
    new Logger('Limits').warn(
      `ulimit -n is ${soft}: at most so many files and connections; raise it to ${MIN_OPEN_FILES} (systemd: LimitNOFILE)`,
    );
}

/** Prints where the service is, and in development how to send it a first plant; warns of its certificate and tokens. */
export async function announce(app: NestExpressApplication, config: Config): Promise<void> {
  announceClientCertificate(config);
  const url = await app.getUrl();
  if (config.docs) print(`Documentation: ${url}/docs`, config);
  print(`Plant store: ${url}/plants (POST)`, config);
  const tokens = app.get(TokensService);
  // If the store takes no token, a warning says that there is none.
  const first = config.production ? undefined : await tokens.createFirst().catch(() => undefined);
  if (first)
    process.stdout.write(
      '\nThe store has no token yet. Here is one; it is shown only now:\n\n' +
        `  ${first.secret}\n\nStore a plant:\n\n` +
        `  curl ${url}/plants -H 'Authorization: Bearer ${first.secret}' \\\n` +
        `    -H 'Content-Type: application/json' -d '{"id": 3, "name": "Common alder", "tag": "Alnus glutinosa"}'\n\n`,
    );
  else announceTokens(await tokens.list(), config);
}

/**
 * Tells how many tokens are active, and how to make one. Warns if there is none, unless an identity provider has them, and of
 * tokens that expire soon.
 */
function announceTokens(tokens: readonly Token[], config: Config): void {
  const logger = new Logger('Tokens');
  const { length: active } = tokens.filter((token) => isActive(token));
  if (active > 0)
    print(`Active tokens: ${active}; for another one run ${COMMAND} token create NAME`, config);
  else if (config.authIssuer === undefined)
    logger.warn(`the store has no active token: run ${COMMAND} token create NAME`);
  const { length } = listExpiring(tokens);
  if (length > 0) logger.warn(`tokens that expire soon: ${length}; run ${COMMAND} token list`);
}

/** Tells systemd that the service is ready (sd_notify(3)), if it asks: Node.js has no datagram sockets of a path. */
export function notifySystemd(): void {
  // eslint-disable-next-line no-restricted-properties -- systemd's variable, no part of the service's configuration
  const { NOTIFY_SOCKET, PATH } = process.env;
  if (!NOTIFY_SOCKET) return;
  // The program needs none of the service's secrets.
  execFile('systemd-notify', ['--ready'], { env: { PATH, NOTIFY_SOCKET } }, (error) => {
    if (error) new Logger('Systemd').warn(`systemd was not told READY=1: ${error.message}`);
  });
}
