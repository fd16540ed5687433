import type { Writable } from 'node:stream';
import { Logger as NestLogger, type LoggerService } from '@nestjs/common';
import { pino, stdTimeFunctions, type DestinationStream, type Level, type Logger } from 'pino';
import type { Config } from '../config/config.js';
import { formatStack } from '../errors/operator-message.js';
import { redact } from '../http/redact.js';

/** Parts of Nest that log each module and route at the start, which only developers need. */
const WIRING = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Nest's logger over pino: all lines of the service go through it. */
export class ServiceLogger implements LoggerService {
  /** For lines that do not follow Nest's conventions. */
  readonly pino: Logger;

  /**
   * Logs one JSON object a line in production, readable lines in development (docs/logging.md).
   *
   * @param output where the lines go
   */
  constructor(
    { logLevel, production }: Config,
    output: DestinationStream = new Output(process.stdout),
  ) {
    this.pino = pino(
      {
        level: logLevel,
        base: { pid: process.pid },
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (level) => ({ level }) },
        hooks: { streamWrite: production ? redact : (line) => formatLine(redact(line)) },
      },
      output,
    );
    if (!(output instanceof Output)) return;
    output.onCaughtUp = (dropped) =>
      this.warn('lines were dropped: their reader was too slow', { dropped }, 'Log');
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
    this.write(WIRING.has(String(rest.at(-1))) ? 'debug' : 'info', message, rest);
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
 * members may hold the plants of a query. The members of an object become those of the line; an object
 * in place of the message is its `data`.
 */
function toMembers(message: unknown, rest: readonly unknown[]): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  if (message instanceof Error) members.stack = formatStack(message);
  else if (typeof message !== 'string') members.data = message;
  const last = rest.at(-1);
  const hasContext = typeof last === 'string' && !STACK.test(last);
  for (const one of hasContext ? rest.slice(0, -1) : rest) {
    if (one instanceof Error) members.stack = formatStack(one);
    else if (typeof one === 'string') members.stack = one;
    else Object.assign(members, one);
  }
  if (hasContext) members.context = last;
  if (message instanceof Error) members.msg = message.message;
  else if (typeof message === 'string') members.msg = message;
  return members;
}

/** Characters that may wait for a slow reader; lines beyond them are dropped. */
export const MAX_WAITING_CHARACTERS = 1024 * 1024;

/**
 * Writes lines to a stream that takes each at once where it can, as process.stdout does, so that no line
 * is lost when the process ends or crashes. (pino's own destination would stop the process
 * at a pipe that nobody reads.)
 *
 * The reader cannot stop the service: while a pipe is full, lines wait up to a bound, and are then
 * dropped and counted. If the reader has gone, or a disk is full, they are lost.
 */
export class Output {
  private dropped = 0;
  /** Called with the number of dropped lines, once the reader has caught up. */
  onCaughtUp: (dropped: number) => void = () => undefined;

  constructor(private readonly stream: Writable) {
    stream.on('error', () => undefined);
    stream.on('drain', () => {
      const { dropped } = this;
      this.dropped = 0;
      if (dropped > 0) this.onCaughtUp(dropped);
    });
  }

  /** @param line with the line break at its end */
  write(line: string): void {
    if (this.stream.writableLength < MAX_WAITING_CHARACTERS) this.stream.write(line);
    else this.dropped += 1;
  }
}

/** Members with a place of their own in a readable line, without one, or in the message. */
const PLACED = new Set('level time pid context msg stack method path status'.split(' '));

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', hour12: false });

/** Control characters of terminals and of the direction of writing, among them line breaks. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Formats a line of JSON for a person: time, level, context, message, other members as `name=value`; a
 * stack on lines of its own. Text of a client cannot colour the terminal or look like another line:
 * control characters are escaped as in JSON. (pino-pretty prints them.)
 */
export function formatLine(json: string): string {
  const line = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { level, time, context, msg, stack } = line;
  const at = new Date(String(time));
  const others = Object.entries(line).filter(([name]) => !PLACED.has(name));
  const words = [
    `${CLOCK.format(at)}.${String(at.getMilliseconds()).padStart(3, '0')}`,
    String(level).toUpperCase().padEnd(5),
    ...(context === undefined ? [] : [`[${formatText(context)}]`]),
    ...(msg === undefined ? [] : [formatText(msg)]),
    ...others.map(([name, value]) => `${formatText(name)}=${formatText(value)}`),
  ];
  const below = typeof stack === 'string' ? stack.split('\n') : [];
  return `${[words.join(' '), ...below.map((one) => `    ${formatText(one)}`)].join('\n')}\n`;
}

function formatText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(CONTROLS, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
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
