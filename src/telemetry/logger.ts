import { constants, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Logger as NestLogger, type LoggerService } from '@nestjs/common';
import type PinoPretty from 'pino-pretty';
import { pino, stdTimeFunctions, type DestinationStream, type Level, type Logger } from 'pino';
import type { Config } from '../config/config.js';
import { describeError, formatStack } from '../errors/operator-message.js';
import { escapeControls, escapeLines, redact } from '../errors/redact.js';

/** Matches the contexts in which Nest logs a start. Its wiring is for developers, and a failed start has its own message. */
const NEST_STARTUP =
  /^(NestFactory|InstanceLoader|RoutesResolver|RouterExplorer|NestApplication|ExceptionHandler)$/;

/** Nest's logger over pino: JSON in production, else readable text (docs/logging.md). */
export class ServiceLogger implements LoggerService {
  private readonly pino: Logger;
  readonly fatal = this.createMethod('fatal');
  readonly error = this.createMethod('error');
  readonly warn = this.createMethod('warn');
  readonly log = this.createMethod('info');
  readonly debug = this.createMethod('debug');
  readonly verbose = this.createMethod('trace');

  /** @param output where the lines go; by default stdout */
  constructor({ logLevel, production }: Config, output?: DestinationStream) {
    this.pino = pino(
      {
        level: logLevel,
        base: { pid: process.pid },
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
        errorKey: 'stack',
        serializers: { stack: formatStack },
        hooks: { streamWrite: production ? redact : createFormatter() },
      },
      output ?? this.openStdout(),
    );
  }

  private createMethod(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => {
      const isStartup = level !== 'warn' && NEST_STARTUP.test(String(rest.at(-1)));
      const actual = isStartup ? 'debug' : level;
      if (this.pino.isLevelEnabled(actual)) this.pino[actual](toMembers(message, rest));
    };
  }

  /** Opens stdout. Up to a megabyte waits for a slow reader, and lines past that are dropped. */
  private openStdout(): DestinationStream {
    const output = pino.destination({
      dest: openNonBlocking(),
      sync: true,
      // By default pino would sleep on the event loop until the pipe has space.
      retryEAGAIN: () => false,
      maxLength: 1024 * 1024,
      // It is in milliseconds, and pino ignores it without a minimum length.
      periodicFlush: 100,
      minLength: 1,
    });
    let dropped = 0;
    // An error means that the reader has gone: nobody is left to be told.
    output.on('error', () => undefined);
    output.on('drop', () => (dropped += 1));
    output.on('drain', () => {
      const lost = { dropped };
      dropped = 0;
      if (lost.dropped > 0) this.warn('lines were dropped: their reader was too slow', lost, 'Log');
    });
    return output;
  }
}

/** Opens stdout so that a write fails with EAGAIN while its reader is slow. */
function openNonBlocking(): number {
  // Reading process.stdout makes a pipe so, but a terminal blocking: one that ^S has stopped would stop the service.
  const { fd, isTTY } = process.stdout;
  if (!isTTY) return fd;
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
    return openSync('/dev/stdout', O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // The terminal belongs to another user.
    return fd;
  }
}

/** The first frame of a stack. The class of blanks has no line feed: a text of many would take time that grows with their square. */
const STACK = /\n[^\S\n]+at /;

/**
 * Makes a line's members from the arguments of Nest's Logger: a message, then stacks, errors and objects, and last the
 * context. An Error gives its message and its stack only, as its other members may contain the plants of a query.
 */
function toMembers(message: unknown, rest: readonly unknown[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const [i, one] of rest.entries()) {
    if (one instanceof Object && !Error.isError(one)) Object.assign(members, one);
    else if (i === rest.length - 1 && typeof one === 'string' && !STACK.test(one))
      members.context = one;
    else members.stack = one;
  }
  // Pino would take the message of an error in `stack` as it is, which may quote a plant.
  if (Error.isError(message))
    Object.assign(members, { stack: message, msg: describeError(message) });
  else members[typeof message === 'string' ? 'msg' : 'data'] = message;
  return members;
}

const require = createRequire(import.meta.url);

/** Creates a function that formats a line of JSON for a person, and escapes control characters of clients. */
function createFormatter(): (json: string) => string {
  // It is loaded here because production does not need it, and it takes 40 ms.
  const { prettyFactory } = require('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({
    colorize: process.stdout.isTTY && process.stdout.hasColors(),
    translateTime: 'SYS:HH:MM:ss.l',
    messageFormat: '{if context}[{context}] {end}{msg}',
    ignore: 'pid,context,method,path,status',
    singleLine: true,
    errorLikeObjectKeys: ['stack'],
    customPrettifiers: { stack: String },
  });
  return (json) => format(JSON.parse(redact(json), escapeMember));
}

function escapeMember(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return name === 'stack' ? escapeLines(value) : escapeControls(value);
}

/** Logs an uncaught exception, and ends the process: Node would print all members of the error, such as plants. */
export function logCrashes(): void {
  process.on('uncaughtException', (error: unknown) => {
    new NestLogger('PlantStore').fatal('uncaught exception', error);
    process.exit(1);
  });
}
