import { Logger as NestLogger, type LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Level, type Logger } from 'pino';
import type { Config } from '../config/config.js';
import { formatStack } from '../errors/describe.js';
import { redact } from '../http/redact.js';
import { Output } from './output.js';
import { readable } from './readable.js';

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

  /** Nest logs what fails a start, with its stack or its code; main.ts says it in words for the operator. */
  error(message: unknown, ...rest: unknown[]): void {
    const isOfStart = /^(ExceptionHandler|NestApplication)$/.test(String(rest.at(-1)));
    this.write(isOfStart ? 'debug' : 'error', message, rest);
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

let stdout: Output | undefined;

/**
 * The service's log by pino: one JSON object a line in production, lines to read in development; with
 * all of it on stdout (docs/logging.md).
 */
function createLogger(
  { logLevel, production }: Config,
  output: DestinationStream = (stdout ??= new Output(process.stdout)),
): Logger {
  const logger = pino(
    {
      level: logLevel,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }) },
      hooks: { streamWrite: production ? redact : (line) => readable(redact(line)) },
    },
    output,
  );
  if (output instanceof Output) {
    output.onCaughtUp = (dropped) =>
      logger.warn({ context: 'Log', dropped }, 'lines were dropped: their reader was too slow');
  }
  return logger;
}

/** What Nest passes to a logger, as pino takes it. */
interface NestLine {
  readonly msg: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
}

const STACK = /\n\s+at /;

/**
 * Reads the arguments that Nest's Logger passes on: a message, then a stack (of errors), objects, and
 * a context as the last one. An Error gives its message and its stack, not its other members, which
 * may hold the plants of a query. Objects behind the message add their members to the line, one in
 * its place is its `data`.
 */
function nestLine(message: unknown, rest: readonly unknown[]): NestLine {
  const fields: Record<string, unknown> = {};
  const last = rest.at(-1);
  const context = typeof last === 'string' && !STACK.test(last) ? last : undefined;
  for (const one of context === undefined ? rest : rest.slice(0, -1)) {
    if (one instanceof Error) fields.stack = formatStack(one);
    else if (typeof one === 'string') fields.stack = one;
    else Object.assign(fields, one);
  }
  if (context !== undefined) fields.context = context;
  if (typeof message === 'string') return { msg: message, fields };
  if (message instanceof Error) {
    return { msg: message.message, fields: { stack: formatStack(message), ...fields } };
  }
  return { msg: undefined, fields: { data: message, ...fields } };
}

/**
 * Logs an uncaught exception, and ends the process with 1. Node itself would print all members
 * of the error, and with them the plants of a query.
 */
export function logCrashes(): void {
  process.on('uncaughtException', (error: unknown) => {
    new NestLogger('PlantStore').fatal('uncaught exception', error);
    process.exit(1);
  });
}
