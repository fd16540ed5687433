/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { Config } from '../config/config.js';
import { ServiceLogger } from './logger.js';

/** The lines that a logger writes in production, read. */
function linesOf(
  log: (logger: ServiceLogger) => void,
  logLevel: Config['logLevel'] = 'trace',
): Record<string, unknown>[] {
  const lines: string[] = [];
  const config = Object.assign(new Config(), { production: true, logLevel });
  log(new ServiceLogger(config, { write: (line: string) => void lines.push(line) }));
  for (const line of lines) expect(line).toMatch(/^\{[^\n]*\}\n$/);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const STACK = 'Error: x\n    at y (z.js:1:1)';
const failed = new QueryFailedError('INSERT PLANT', ['PLANT'], new Error('it failed'));
const caused = new Error('outer', { cause: failed });
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

describe('a line', () => {
  it('has the level as a word, the time in ISO 8601, the process, the context and the message', () => {
    const [line] = linesOf((logger) => logger.log('hello', 'Store'));
    const { time, ...rest } = line ?? {};
    expect(rest).toEqual({ level: 'info', pid: process.pid, context: 'Store', msg: 'hello' });
    expect(new Date(String(time)).toISOString()).toBe(time);
  });

  it.each<[string, [unknown, ...unknown[]], object]>([
    ['a message alone', ['m'], { msg: 'm' }],
    ['a context', ['m', undefined, 'C'], { msg: 'm', context: 'C' }],
    ['a stack and a context', ['m', STACK, 'C'], { msg: 'm', stack: STACK, context: 'C' }],
    ['a stack alone', ['m', STACK], { msg: 'm', stack: STACK }],
    ['members', ['m', STACK, { requestId: 'r' }, 'C'], { msg: 'm', stack: STACK, requestId: 'r' }],
    ['an object', [{ a: 1 }, 'C'], { data: { a: 1 }, context: 'C' }],
    ['an object in a circle', [cycle], { data: { self: '[Circular]' } }],
    ['an error', [new Error('e'), 'C'], { msg: 'e', stack: expect.stringContaining('at ') }],
    ['an error behind it', ['m', caused, 'C'], { stack: expect.stringContaining('caused by') }],
    ['a bigint', [1n], { data: 1 }],
    ['percent signs', ['100 %s %d'], { msg: '100 %s %d' }],
    ['line breaks', ['a\nb'], { msg: 'a\nb' }],
  ])('of %s', (_name, args, expected) => {
    expect(linesOf((logger) => logger.error(...args))[0]).toMatchObject(expected);
  });

  it.each([
    ['as the message', [failed, 'C']],
    ['as a cause', ['m', caused, 'C']],
  ] as [string, [unknown, ...unknown[]]][])(
    'of a query that failed, %s, shows no plants',
    (_name, args) => {
      const text = JSON.stringify(linesOf((logger) => logger.error(...args)));
      expect(text).toContain('it failed');
      expect(text).not.toContain('PLANT');
    },
  );
});

describe('levels', () => {
  const METHODS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;
  const ALL = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
  it.each(ALL)('LOG_LEVEL=%s', (level) => {
    const lines = linesOf((logger) => {
      for (const method of METHODS) logger[method]('m', 'C');
    }, level);
    expect(lines.map((line) => line.level)).toEqual(ALL.slice(0, ALL.indexOf(level) + 1));
  });

  it("of Nest's wiring, and of the stack that fails a start, is debug", () => {
    const lines = linesOf((logger) => {
      logger.log('Mapped', 'RouterExplorer');
      logger.error(new Error('x'), STACK, 'ExceptionHandler');
      logger.warn('odd', 'NestFactory');
    });
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'warn']);
  });
});
