/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createSecret } from '../auth/tokens/token.entity.js';
import { redact, redactChosen } from './redact.js';

const SECRET = createSecret();
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl-_x';

describe('redact', () => {
  it.each([
    [`{"path":"/plants/${SECRET}"}`, '{"path":"/plants/[redacted]"}'],
    [`{"path":"/${SECRET.slice(0, 25)}"}`, '{"path":"/[redacted]"}'],
    [`{"a":"${SECRET}","b":"${SECRET.toUpperCase()}"}`, '{"a":"[redacted]","b":"[redacted]"}'],
    [`{"path":"/${JWT}/x"}`, '{"path":"/[redacted]/x"}'],
    [`{"path":"/${JWT.slice(0, 30)}"}`, '{"path":"/[redacted]"}'],
    ['{"msg":"Authorization: BEARER  abc~d"}', '{"msg":"Authorization: BEARER  [redacted]"}'],
    ['{"path":"/x;access_token=abc&y"}', '{"path":"/x;access_token=[redacted]&y"}'],
    ['{"msg":"at postgres://u:p%40w@h:1/d"}', '{"msg":"at postgres://u:[redacted]@h:1/d"}'],
  ])('%s', (line, redacted) => {
    expect(redact(line)).toBe(redacted);
    if (line.startsWith('{')) expect(() => JSON.parse(redacted) as unknown).not.toThrow();
  });

  it.each([
    '{"msg":"Plant store: http://127.0.0.1:3000/plants","time":"2026-01-01T10:00:00.000Z"}',
    '{"msg":"connect ECONNREFUSED 127.0.0.1:5432","database":"plant_store_0123456789abcdef"}',
    '{"requestId":"0dfb33d6-f934-4c0a-9829-ec9e96d30951","tokenId":"token:3"}',
  ])('lets %s be', (line) => {
    expect(redact(line)).toBe(line);
  });
});

describe('redactChosen', () => {
  const escape = (text: string) =>
    text.replace(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`);

  it('takes out a token, or 32 characters of it, however they are split and encoded', () => {
    const separator = fc.constantFrom(
      ...Array.from('/.:+-_,;=@~!$&|'),
      '%00',
      '%2F',
      '%2f',
      '%252F',
      '%20',
    );
    const spell = fc.constantFrom(String, escape, (text: string) => escape(escape(text)));
    const length = fc.integer({ min: 1, max: 32 });
    const pieces = fc.array(fc.record({ length, separator, spell }));
    const around = fc.constantFrom('', '/', '/plants/', 'req-', '192.0.2.7:');
    fc.assert(
      fc.property(fc.nat(6), pieces, around, around, (from, splits, before, after) => {
        const secret = createSecret().slice('plant_'.length);
        let rest = secret.slice(from, from + 32);
        let text = before;
        for (const split of splits) {
          text += split.spell(rest.slice(0, split.length)) + split.separator;
          rest = rest.slice(split.length);
        }
        expect(redactChosen(`${text}${rest}${after}`)).toBe('[redacted]');
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['with its prefix', SECRET],
    ['with an encoded underscore', SECRET.replace('_', '%5F')],
    ['encoded whole', escape(SECRET)],
    ['a JSON Web Token encoded whole', escape(JWT)],
    ['a part of a JSON Web Token', 'aB1_-'.repeat(11)],
    ['the end of a long path', `${'x/'.repeat(127)}${SECRET}`],
  ])('takes a token out: %s', (_name, spelling) => {
    expect(redactChosen(`/plants/${spelling}/x`)).toBe('[redacted]');
  });

  it('leaves what is around the beginning of a token', () => {
    const path = `/plants/${SECRET.slice(0, 24).replace('_', '%5F')}/x`;
    expect(redactChosen(path)).toBe('/plants/[redacted]/x');
  });

  it.each([
    '/plants/0dfb33d6-f934-4c0a-9829-ec9e96d30951',
    '/3F2504E0-4F89-41D3-9A0C-0305E82C3301',
    '/Nursery-0dfb33d6-f934-4c0a-9829-ec9e96d30951',
    'Root=1-67891233-abcdef012345678912345678',
    '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
    '/my-service-checkout-order-1234567890',
    '/a-very-long-but-harmless-path-segment-of-words',
    '/api/v1/plants%2f',
    `/${'0af7'.repeat(8)}`,
  ])('lets %s be', (path) => expect(redactChosen(path)).toBe(path));
});
