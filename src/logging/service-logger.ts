import type { LoggerService } from '@nestjs/common';
import type { DestinationStream, Level, Logger } from 'pino';
import type { Config } from '../config/config.js';
import { createLogger } from './create-logger.js';
import { nestLine } from './nest-line.js';

/** Nest's parts that tell of each module and route at the start; of use to a developer alone. */
const WIRING = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Nest's logger, and with it that of the whole service, over pino. */
export class ServiceLogger implements LoggerService {
  /** The logger below, for lines that have no use for Nest's conventions. */
  readonly pino: Logger;

  /** @param output where the lines go: stdout if left out */
  constructor(config: Config, output?: DestinationStream) {
    this.pino = createLogger(config, output);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest logs what fails a start, with its stack; main.ts says it in words for the operator. */
  error(message: unknown, ...rest: unknown[]): void {
    this.write(rest.at(-1) === 'ExceptionHandler' ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(WIRING.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  private write(level: Level, message: unknown, rest: readonly unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const { msg, fields } = nestLine(message, rest);
    this.pino[level](fields, msg);
  }
}
