/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { Config } from '../config/config.js';
import { ServiceLogger } from './logger.js';

/** Parses the lines that a logger writes in production. */
function readLines(
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
const refused = Object.assign(new Error('it failed: "PLANT"'), { code: '22P02' });
const failed = new QueryFailedError('INSERT PLANT', ['PLANT'], refused);
const caused = new Error('outer', { cause: failed });

describe('a line in production', () => {
  it.each<[string, [unknown, ...unknown[]], object]>([
    ['a context', ['m', undefined, 'C'], { msg: 'm', context: 'C' }],
    ['a stack and a context', ['m', STACK, 'C'], { msg: 'm', stack: STACK, context: 'C' }],
    ['a detail and a context', ['m', 'why', 'C'], { msg: 'm', stack: 'why', context: 'C' }],
    ['members', ['m', STACK, { requestId: 'r' }, 'C'], { msg: 'm', stack: STACK, requestId: 'r' }],
    ['an object', [{ a: 1 }, 'C'], { data: { a: 1 }, context: 'C' }],
    ['an error', [new Error('e'), 'C'], { msg: 'e', stack: expect.stringContaining('at ') }],
    ['an error behind it', ['m', caused, 'C'], { stack: expect.stringContaining('caused by') }],
    ['a bigint', [1n], { data: 1 }],
    // Takes minutes where each line feed has all the others searched.
    ['a long context', ['m', '\n'.repeat(1e6)], { context: '\n'.repeat(1e6) }],
    ['blanks as a context', ['m', '\n \t'.repeat(3e5)], { context: '\n \t'.repeat(3e5) }],
    ['percent signs', ['100 %s %d'], { msg: '100 %s %d' }],
  ])('of %s', (_name, args, expected) => {
    expect(readLines((logger) => logger.error(...args))[0]).toMatchObject(expected);
  });

  it.each<[string, [unknown, ...unknown[]]]>([
    ['as the message', [failed, 'C']],
    ['as a cause', ['m', caused, 'C']],
  ])('of a query that failed, %s, shows no plants', (_name, args) => {
    const text = JSON.stringify(readLines((logger) => logger.error(...args)));
    expect(text).toContain('it failed');
    expect(text).not.toContain('PLANT');
  });
});

describe('levels', () => {
  const METHODS = ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'] as const;
  const ALL = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
  it.each(ALL)('LOG_LEVEL=%s', (level) => {
    const lines = readLines((logger) => {
      for (const method of METHODS) logger[method]('m', 'C');
    }, level);
    expect(lines.map((line) => line.level)).toEqual(ALL.slice(0, ALL.indexOf(level) + 1));
  });

  it('LOG_LEVEL holds in development too', () => {
    let text = '';
    const config = Object.assign(new Config(), { production: false, logLevel: 'warn' });
    const logger = new ServiceLogger(config, { write: (line: string) => (text += line) });
    logger.log('hidden', 'C');
    logger.warn('shown', 'C');
    expect(text).toMatch(/^\S+ WARN: \[C\] shown\n$/);
  });

  it("Nest's wiring, and the stack of a failed start, are logged at debug", () => {
    const lines = readLines((logger) => {
      logger.log('Mapped', 'RouterExplorer');
      logger.error(new Error('x'), STACK, 'ExceptionHandler');
      logger.warn('odd', 'NestFactory');
    });
    expect(lines.map(({ level }) => level)).toEqual(['debug', 'debug', 'warn']);
  });
});

/** Formats a line of development without its time. */
function format(message: unknown, ...rest: unknown[]): string {
  let text = '';
  const config = Object.assign(new Config(), { production: false });
  new ServiceLogger(config, { write: (line: string) => (text += line) }).log(message, ...rest);
  expect(text).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] /);
  return text.slice('[00:00:00.000] '.length);
}

describe('a line in development', () => {
  it.each<[string, [unknown, ...unknown[]], string]>([
    ['a message', ['it is back', 'Store'], 'INFO: [Store] it is back'],
    ['no message', [{ b: [1] }, 'A'], 'INFO: [A]  {"data":{"b":[1]}}'],
    ['members, without those of the message', ['x', { method: 'GET', a: 1 }], 'INFO: x {"a":1}'],
    ['letters of all languages', ['Öak 栎 🌵'], 'INFO: Öak 栎 🌵'],
    ['no token', [`Bearer ${'x'.repeat(40)}`], 'INFO: Bearer [redacted]'],
    ['a stack', ['x', STACK], 'INFO: x \n    stack: Error: x\n        at y (z.js:1:1)'],
  ])('%s', (_name, args, text) => {
    expect(format(...args)).toBe(`${text}\n`);
  });

  it.each([
    ['colours', '\u001b[31m', '\\u001b[31m'],
    ['a line break', 'a\r\nb', 'a\\u000d\\u000ab'],
    ["Unicode's line breaks", '\u0085\u2028\u2029', '\\u0085\\u2028\\u2029'],
    ['another direction', '\u202egnp', '\\u202egnp'],
  ])('%s cannot change the terminal, in any value', (_name, bad, shown) => {
    const stack = `Error:\n    at ${bad.replace('\n', '')}`;
    const text = format(bad, stack, { member: bad, nested: { member: [bad] } }, bad);
    expect(text).not.toContain(bad);
    expect(text.split('\n')).toHaveLength(4);
    expect(text).toContain(
      `[${shown}] ${shown} {"member":"${shown}","nested":{"member":["${shown}"]}}\n`,
    );
  });
});
