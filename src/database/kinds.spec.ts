/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isStorableText } from './kinds.js';

describe('isStorableText', () => {
  it.each(['', ' ', 'oak', '\u0001', '\uffff', '🌵', '\ufeff', 'e\u0301'])('accepts %j', (text) =>
    expect(isStorableText(text)).toBe(true),
  );

  it.each(['\0', 'a\0', '\ud800', '\udc00', 'a\ud83cb', '\udf35\ud83c', '🌵\ud83c'])(
    'rejects %j',
    (text) => expect(isStorableText(text)).toBe(false),
  );

  it.each([undefined, null, 7, 7n, true, [], {}, ['oak'], Object('oak')])(
    'rejects %p, which is no string',
    (value) => expect(isStorableText(value)).toBe(false),
  );

  it('accepts exactly the texts that UTF-8 keeps, without U+0000', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.boolean(),
        fc.nat(0xffff),
        (text, add, unit) => {
          const tried = add ? text + String.fromCharCode(unit) : text;
          const faithful = Buffer.from(tried).toString() === tried && !tried.includes('\0');
          expect(isStorableText(tried)).toBe(faithful);
        },
      ),
    );
  });
});
