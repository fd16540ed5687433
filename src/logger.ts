import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { LOG_LEVELS, type Config } from './config/config.js';

/** Nest's names for LOG_LEVEL's. */
const NEST_LEVELS: Record<Config['logLevel'], LogLevel> = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  info: 'log',
  debug: 'debug',
  trace: 'verbose',
};

/** Nest's parts that tell of each module and route at the start; of use to a developer alone. */
const WIRING = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** The service's log: lines to read in development, JSON in production. */
export class ServiceLogger extends ConsoleLogger {
  constructor({ logLevel, production }: Config) {
    const levels = LOG_LEVELS.slice(0, LOG_LEVELS.indexOf(logLevel) + 1);
    super({ json: production, logLevels: levels.map((level) => NEST_LEVELS[level]) });
  }

  override log(message: unknown, ...rest: unknown[]): void {
    if (WIRING.has(String(rest.at(-1)))) this.debug(message, ...rest);
    else super.log(message, ...rest);
  }

  /** Nest logs what fails a start, with its stack; main.ts says it in words for the operator. */
  override error(message: unknown, ...rest: unknown[]): void {
    if (rest.at(-1) === 'ExceptionHandler') this.debug(message);
    else super.error(message, ...rest);
  }
}
