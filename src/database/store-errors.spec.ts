import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { describeReason } from '../errors/operator-message.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { toCommitError, toStoreError } from './store-errors.js';

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

describe('toCommitError', () => {
  it.each([
    ['a full disk', failed('SQLITE_FULL')],
    ['a locked store', failed('SQLITE_BUSY')],
    ['a constraint that is checked at the end', failed('23503')],
    ['a trigger that is run at the end', failed('P0001')],
    ['a cancelled statement', failed('57014')],
    [
      'a refusal with advice',
      new QueryFailedError(
        'COMMIT',
        [],
        new StoreUnavailableException('reason', { cause: withCode('23505') }),
      ),
    ],
  ])('%s refuses a commit', (_name, error) => {
    expect(toCommitError(error, 'it is there')).toBe(error);
  });

  it.each([
    ['a failed sync', failed('SQLITE_IOERR_FSYNC')],
    ['a server that stops', failed('57P01')],
    ['a server that knows no better', failed('40003')],
    ['a pooler that has lost the server', failed('08P01')],
    ['a failed disk of the server', failed('58030')],
    ['a broken connection', new StoreUnavailableException('reason', { cause: withCode('EPIPE') })],
    ['no response in time', new StoreUnavailableException('reason')],
  ])('%s leaves a commit unknown', (_name, cause) => {
    const error = toCommitError(cause, 'it is there');
    expect(error).toMatchObject({ cause });
    expect(describeReason(error)).toMatch(/^reason(; .*)?, and it is unknown whether it is there$/);
  });
});
