import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { describeError } from '../errors/operator-message.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { DamageError, isDamage, toStoreError } from './store-errors.js';

/** What TypeORM throws where the engine gives this code. */
function failed(code: unknown): QueryFailedError {
  return new QueryFailedError('INSERT', ['secret'], withCode(code));
}

function withCode(code: unknown, more: object = {}): Error {
  return Object.assign(new Error('reason'), { code, ...more });
}

/** What Node gives where there is no connection. */
const connecting = (code: string) => withCode(code, { syscall: 'connect' });

describe('toStoreError', () => {
  it.each([
    ['a locked store', failed('SQLITE_BUSY')],
    ['a locked store, more exactly', failed('SQLITE_BUSY_SNAPSHOT')],
    ['a full disk', failed('SQLITE_FULL')],
    ['a disk that fails', failed('SQLITE_IOERR_FSYNC')],
    ['a store that is read-only', failed('SQLITE_READONLY')],
    ['a damaged store', failed('SQLITE_CORRUPT')],
    ['a server that is read-only', failed('25006')],
    ['a server out of connections', failed('53300')],
    ['a server that stops a statement', failed('57014')],
    ['a server in recovery', failed('XX000')],
    ['a table that is missing', failed('42P01')],
    ['a server that refuses', connecting('ECONNREFUSED')],
    ['a socket that is not there', connecting('ENOENT')],
    [
      'what the thread found',
      new QueryFailedError('', [], new StoreUnavailableException('reason')),
    ],
  ])('%s is unavailable, for the reason that the driver gave', (_name, error) => {
    const unavailable = toStoreError(error);
    expect(unavailable).toBeInstanceOf(StoreUnavailableException);
    expect(describeError(unavailable)).toBe('reason');
  });

  it.each([
    ['a column that is missing', failed('42703')],
    ['a file that is not there', withCode('ENOENT')],
    ['a wrong statement', failed('SQLITE_ERROR')],
    ['a broken constraint', failed('SQLITE_CONSTRAINT_NOTNULL')],
    ['a statement that failed without a code', failed(undefined)],
  ])('%s is at fault itself', (_name, error) => {
    expect(toStoreError(error)).toBe(error);
  });
});

it.each([
  ['itself', new DamageError()],
  ['by its cause', new Error('', { cause: withCode('SQLITE_CORRUPT_INDEX') })],
  ['though closing failed too', new SuppressedError(new Error('busy'), new DamageError())],
])('isDamage finds damage that an error tells of %s', (_how, error) => {
  expect(isDamage(error)).toBe(true);
});
