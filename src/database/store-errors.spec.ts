import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { describeReason } from '../errors/operator-message.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { toStoreError } from './store-errors.js';

/** What TypeORM throws where the engine gives this code. */
function failed(code: unknown): QueryFailedError {
  return new QueryFailedError('INSERT', ['secret'], withCode(code));
}

function withCode(code: unknown, more: object = {}): Error {
  return Object.assign(new Error('reason'), { code, ...more });
}

describe('toStoreError', () => {
  it.each([
    ['a locked store, more exactly', failed('SQLITE_BUSY_SNAPSHOT')],
    ['a disk that fails', failed('SQLITE_IOERR_FSYNC')],
    ['a store that is read-only', failed('SQLITE_READONLY')],
    ['a damaged store', failed('SQLITE_CORRUPT')],
    ['a server in recovery', failed('XX000')],
    // What Node gives where there is no connection.
    ['a socket that is not there', withCode('ENOENT', { syscall: 'connect' })],
  ])('%s is unavailable, for the reason that the driver gave', (_name, error) => {
    const unavailable = toStoreError(error);
    expect(unavailable).toBeInstanceOf(StoreUnavailableException);
    expect(describeReason(unavailable)).toBe('reason');
  });

  it.each([
    ['a file that is not there', withCode('ENOENT')],
    ['a wrong statement', failed('SQLITE_ERROR')],
    ['a statement that failed without a code', failed(undefined)],
  ])('%s is at fault itself', (_name, error) => {
    expect(toStoreError(error)).toBe(error);
  });
});
