import { createRequire } from 'node:module';
import { Logger as NestLogger, type LoggerService } from '@nestjs/common';
import type PinoPretty from 'pino-pretty';
import { pino, stdTimeFunctions, type DestinationStream, type Level, type Logger } from 'pino';
import type { Config } from '../config/config.js';
import { escapeControls, formatStack } from '../errors/operator-message.js';
import { redact } from '../errors/redact.js';

/** Parts of Nest that log each module and route at the start, which only developers need. */
const WIRING = /^(NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication)$/;

/**
 * Nest's logger over pino: all lines of the service go through it. In production a line is a JSON object, in development
 * readable text (docs/logging.md).
 */
export class ServiceLogger implements LoggerService {
  /** For lines that do not follow Nest's conventions. */
  readonly pino: Logger;

  /** @param output where the lines go; by default stdout */
  constructor({ logLevel, production }: Config, output?: DestinationStream) {
    this.pino = pino(
      {
        level: logLevel,
        base: { pid: process.pid },
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
        hooks: { streamWrite: production ? redact : createFormatter() },
      },
      output ??
        openStdout((dropped) => {
          this.warn('lines were dropped: their reader was too slow', { dropped }, 'Log');
        }),
    );
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest logs what fails a start, with its stack or its code; start.ts says it in words for the operator. */
  error(message: unknown, ...rest: unknown[]): void {
    const isOfStart = /^(ExceptionHandler|NestApplication)$/.test(String(rest.at(-1)));
    this.write(isOfStart ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(WIRING.test(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  private write(level: Level, message: unknown, rest: readonly unknown[]): void {
    if (this.pino.isLevelEnabled(level)) this.pino[level](toMembers(message, rest));
  }
}

const STACK = /\n\s+at /;

/**
 * The members of a line by the arguments of Nest's Logger: a message, then stacks, errors and objects,
 * and the context as the last one. Of an Error only its message and its stack are logged: its other
 * members may contain the plants of a query. The members of an object become those of the line; an object
 * in place of the message is its `data`.
 */
function toMembers(message: unknown, rest: readonly unknown[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  if (message instanceof Error) members.stack = formatStack(message);
  const last = rest.at(-1);
  const hasContext = typeof last === 'string' && !STACK.test(last);
  for (const one of hasContext ? rest.slice(0, -1) : rest) {
    if (one instanceof Error) members.stack = formatStack(one);
    else if (typeof one === 'string') members.stack = one;
    else Object.assign(members, one);
  }
  if (hasContext) members.context = last;
  if (message instanceof Error) members.msg = message.message;
  else members[typeof message === 'string' ? 'msg' : 'data'] = message;
  return members;
}

/** Bytes that may wait for a slow reader; lines beyond them are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How often waiting lines are offered to the reader again, in milliseconds. */
const FLUSH_INTERVAL_MS = 100;

/**
 * Opens stdout for the log. Each line is written at once, so none is lost when the process ends or crashes. A reader
 * that stalls cannot stop the service: lines wait up to a bound, and are then dropped and counted. If the reader has
 * gone, they are lost.
 *
 * @param onCaughtUp called with the number of dropped lines, once the reader has all others
 */
function openStdout(onCaughtUp: (dropped: number) => void): DestinationStream {
  const output = pino.destination({
    // Node makes a pipe non-blocking when process.stdout is first read, so a full one fails with EAGAIN.
    dest: process.stdout.fd,
    sync: true,
    // The library would sleep on the event loop until the pipe has space.
    retryEAGAIN: () => false,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_INTERVAL_MS,
    // Without a minimum, the library ignores periodicFlush.
    minLength: 1,
  });
  let dropped = 0;
  output.on('error', () => undefined);
  output.on('drop', () => {
    if (dropped++ > 0) return;
    output.once('drain', () => {
      onCaughtUp(dropped);
      dropped = 0;
    });
  });
  return output;
}

const require = createRequire(import.meta.url);

/** Members that are in the message, or that a person does not need. */
const LEFT_OUT = 'pid,context,method,path,status';

/**
 * Creates a function that formats a line of JSON for a person: time, level, context, message, other members; a stack on
 * lines of its own. Text of a client cannot colour the terminal or look like another line: control characters are
 * escaped.
 */
function createFormatter(): (json: string) => string {
  // Production does not need it, so it is not imported above.
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({
    colorize: process.stdout.isTTY && process.stdout.hasColors(),
    translateTime: 'SYS:HH:MM:ss.l',
    messageFormat: ({ context, msg }) =>
      (context === undefined ? [msg] : [`[${context as string}]`, msg]).join(' '),
    ignore: LEFT_OUT,
    singleLine: true,
    errorLikeObjectKeys: ['stack'],
    customPrettifiers: { stack: String },
  });
  return (json) => format(JSON.parse(redact(json), escapeMember));
}

function escapeMember(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (name !== 'stack') return escapeControls(value);
  return value.split('\n').map(escapeControls).join('\n');
}

/**
 * Logs an uncaught exception, and ends the process with 1. Node itself would print all members of the
 * error, and with them the plants of a query.
 */
export function logCrashes(): void {
  process.on('uncaughtException', (error: unknown) => {
    new NestLogger('PlantStore').fatal('uncaught exception', error);
    process.exit(1);
  });
}
