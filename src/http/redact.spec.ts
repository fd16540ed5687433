import { describe, expect, it } from '@jest/globals';
import { newSecret } from '../auth/secret.js';
import { redact, redactChosen } from './redact.js';

const SECRET = newSecret();
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
  const BARE = SECRET.slice('plant_'.length);
  const escape = (text: string) =>
    text.replace(/./g, (character) => `%${character.charCodeAt(0).toString(16)}`);

  it.each([
    ['without its prefix', BARE],
    ['cut to 32 characters', BARE.slice(3, 35)],
    ['with an encoded underscore', SECRET.replace('_', '%5F')],
    ['encoded whole', escape(SECRET)],
    ['encoded twice', escape(escape(SECRET))],
    ['a JSON Web Token encoded whole', escape(JWT)],
    ['a part of a JSON Web Token', 'aB1_-'.repeat(8)],
  ])('takes a token out: %s', (_name, spelling) => {
    expect(redactChosen(`/plants/${spelling}/x`)).toBe('/plants/[redacted]/x');
  });

  it.each([
    '/plants/0dfb33d6-f934-4c0a-9829-ec9e96d30951',
    '/3F2504E0-4F89-41D3-9A0C-0305E82C3301',
    '/req-0dfb33d6-f934-4c0a-9829-ec9e96d30951',
    '/my-service-checkout-order-1234567890',
    '/a-very-long-but-harmless-path-segment-of-words',
    '/api/v1/plants%2f',
    `/${'0af7'.repeat(8)}`,
  ])('lets %s be', (path) => expect(redactChosen(path)).toBe(path));
});
