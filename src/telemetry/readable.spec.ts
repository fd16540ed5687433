/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { readable } from './readable.js';

const TIME = new Date(2026, 0, 2, 3, 4, 5, 67).toISOString();
const line = (more: object) => readable(JSON.stringify({ level: 'info', time: TIME, ...more }));

describe('readable', () => {
  it.each<[string, object, string]>([
    ['a message', { pid: 1, context: 'Store', msg: 'it is back' }, '[Store] it is back'],
    ['no context', { msg: 'x' }, 'x'],
    ['no message', { context: 'A', data: { b: [1] } }, '[A] data={"b":[1]}'],
    [
      'what the message says',
      { msg: 'GET / 404', method: 'GET', path: '/', status: 404 },
      'GET / 404',
    ],
    ['other members', { msg: 'x', error: 2000, client: '::1' }, 'x error=2000 client=::1'],
    ['a stack', { msg: 'x', stack: 'Error: x\n    at y' }, 'x\n    Error: x\n        at y'],
  ])('%s', (_name, more, text) => {
    expect(line(more)).toBe(`03:04:05.067 INFO  ${text}\n`);
  });

  it.each([
    ['colours', '\u001b[31m', '\\u001b[31m'],
    ['an 8-bit control', '\u009b31m', '\\u009b31m'],
    ['a line break', 'a\r\nb', 'a\\u000d\\u000ab'],
    ["Unicode's line breaks", '\u0085\u2028\u2029', '\\u0085\\u2028\\u2029'],
    ['another direction', '\u202egnp', '\\u202egnp'],
    ['a delete', '\u007f', '\\u007f'],
  ])('%s do nothing to the terminal, wherever they stand', (_name, bad, shown) => {
    const more = { context: bad, msg: bad, [bad]: bad, stack: `at ${bad.replace('\n', '')}` };
    const text = line(more);
    expect(text).not.toContain(bad);
    expect(text.split('\n')).toHaveLength(3);
    expect(text).toContain(`[${shown}] ${shown} ${shown}=${shown}\n`);
  });

  it('letters of all languages are themselves', () => {
    expect(line({ msg: 'Öak 栎 🌵' })).toContain('Öak 栎 🌵');
  });
});
