/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { createSecret } from '../auth/tokens/token-secret.js';
import { ConfigError } from '../config/environment.js';
import { describeError, describeReason, formatStack, toExitCode } from './operator-message.js';
import { redact } from './redact.js';

const SECRET = createSecret();
const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl-_x';

it.each([
  [`{"path":"/plants/${SECRET}"}`, '{"path":"/plants/[redacted]"}'],
  [`{"path":"/${SECRET.slice(0, 25)}"}`, '{"path":"/[redacted]"}'],
  [`{"a":"${SECRET}","b":"${SECRET.toUpperCase()}"}`, '{"a":"[redacted]","b":"[redacted]"}'],
  [`{"path":"/${JWT}/x"}`, '{"path":"/[redacted]/x"}'],
  [`{"path":"/Bearer%20${JWT}"}`, '{"path":"/Bearer%20[redacted]"}'],
  [JSON.stringify({ msg: `\n${JWT}` }), '{"msg":"\\n[redacted]"}'],
  [`{"path":"/${JWT.slice(0, 30)}"}`, '{"path":"/[redacted]"}'],
  ['{"msg":"Authorization: BEARER  abc~d"}', '{"msg":"Authorization: BEARER  [redacted]"}'],
  ['{"path":"/x;access_token=abc&y"}', '{"path":"/x;access_token=[redacted]&y"}'],
  ['{"msg":"at postgres://u:p%40w@h:1/d"}', '{"msg":"at postgres://u:[redacted]@h:1/d"}'],
])('redacts %s', (line, redacted) => {
  expect(redact(line)).toBe(redacted);
  if (line.startsWith('{')) expect(() => JSON.parse(redacted) as unknown).not.toThrow();
});

it.each([
  '{"msg":"Plant store: http://127.0.0.1:3000/plants","time":"2026-01-01T10:00:00.000Z"}',
  '{"msg":"connect ECONNREFUSED 127.0.0.1:5432","database":"plant_store_0123456789abcdef"}',
  '{"requestId":"0dfb33d6-f934-4c0a-9829-ec9e96d30951","tokenId":"token:3"}',
])('keeps %s', (line) => {
  expect(redact(line)).toBe(line);
});

it.each(['eyJ', ' ', 'bearer ', ':', '://a:'])('redact reads much of %j once', (piece) => {
  // Minutes, if it were searched from each of them to an end.
  const text = `${piece.repeat(2 ** 19)}.`;
  expect(redact(text).replaceAll('[redacted]', '').length).toBeLessThanOrEqual(text.length);
});

it('describeError reads blanks once', () => {
  expect(describeError(`a${' '.repeat(2 ** 19)}b \n c`)).toHaveLength(2 ** 19 + 4);
});

it('describeError tells both what failed and why it could not be closed', () => {
  const error = new SuppressedError(new Error('lost'), new Error('the disk is full'));
  expect(describeError(error)).toBe('the disk is full; lost');
});

it.each(['SQLITE_FULL', '53100'])('describeError says what to do about a full disk: %s', (code) => {
  expect(describeError(Object.assign(new Error('it is full'), { code }))).toBe(
    'it is full; make room on its disk, but remove nothing of the store (docs/operating.md#the-disk-is-full)',
  );
});

it.each([
  ['SQLITE_CORRUPT_INDEX', true],
  ['SQLITE_NOTADB', true],
  ['SQLITE_IOERR_SHORT_READ', true],
  ['XX001', true],
  ['XX002', true],
  ['58030', true],
  // The disk may be full, or the server in recovery.
  ['SQLITE_IOERR_WRITE', false],
  ['XX000', false],
])('describeError says what to do about damage: %s, %s', (code, isDamage) => {
  const error = Object.assign(new Error('reason'), { code });
  const advice =
    '; the store is damaged: stop the service, and follow "A damaged store" in docs/operating.md';
  expect(describeError(error)).toBe(isDamage ? `reason${advice}` : 'reason');
  expect(describeReason(error)).toBe('reason');
});

it.each([
  ['permission denied for table plants', ': grant it (docs/operating.md#roles)'],
  ['must be owner of table plants', ''],
  ['permission denied to create role', ''],
  ['new row violates row-level security policy for table "plants"', ''],
])('describeError advises to grant a right: %s', (message, advice) => {
  const error = Object.assign(new Error(message), { code: '42501' });
  expect(describeError(error)).toBe(message + advice);
});

it.each([
  [
    '22P02',
    'invalid input syntax for type integer: "SECRET"',
    'invalid input syntax for type integer',
  ],
  ['22003', 'value "SECRET" is out of range for type integer', 'value'],
  [
    '22P02',
    'ungültige Eingabesyntax für Typ integer: »SECRET«',
    'ungültige Eingabesyntax für Typ integer',
  ],
  [
    '22P02',
    'invalid input syntax for type json: "a\nSECRET"',
    'invalid input syntax for type json',
  ],
  ['SQLITE_ERROR', "bad JSON path: 'SECRET'", 'bad JSON path'],
  // As TypeORM rewords it.
  ['SQLITE_ERROR', "SqliteError: bad JSON path: 'SECRET'", 'SqliteError'],
  ['42601', 'no operand in tsquery: "SECRET & ("', 'no operand in tsquery'],
])('a plant is in no text of an error: %s, %s', (code, message, told) => {
  const error = Object.assign(new Error(message), { code });
  const cause = new Error('failed', { cause: error });
  expect(describeError(error)).toBe(`${told} (${code})`);
  expect(formatStack(cause)).toContain(`caused by Error: ${told} (${code})\n    at `);
  expect(formatStack(cause)).not.toContain('SECRET');
});

it.each([
  ['22023', 'invalid value for parameter "statement_timeout": "soon"'],
  ['23505', 'duplicate key value violates unique constraint "plants_name_key"'],
  ['SQLITE_CONSTRAINT_CHECK', 'CHECK constraint failed: refuse'],
])('a name is in the text of an error: %s, %s', (code, message) => {
  const error = Object.assign(new Error(message), { code });
  expect(describeError(error)).toBe(message);
  expect(formatStack(error)).toContain(`Error: ${message}\n    at `);
});

it('describeError replaces the advice of Node.js in its own clause alone: each start is searched to the next one', () => {
  const start = 'self-signed certificate; if the root CA is installed locally, ';
  expect(describeError(`${start}try running Node.js with --use-system-ca`)).toContain(
    'sslrootcert',
  );
  const other = `${start}do; not --use-system-ca`;
  expect(describeError(other)).toBe(other);
});

it('toExitCode is that of what failed first', () => {
  const error = new SuppressedError(new Error('lost'), new ConfigError('PORT'));
  expect(toExitCode(error)).toBe(78);
});

it('toExitCode is that of a failed sync, whatever failed because of it', () => {
  const cause = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
  expect(toExitCode(cause)).toBe(74);
  expect(toExitCode(new Error('the store cannot be opened', { cause }))).toBe(74);
});
