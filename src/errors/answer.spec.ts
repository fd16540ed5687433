import { ForbiddenException, HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { toAnswer } from './answer.js';
import { ERRORS } from './errors.js';
import { Fault } from './fault.js';

/** What TypeORM throws where the engine gives this code. */
function failed(code: unknown): QueryFailedError {
  return new QueryFailedError('INSERT', ['secret'], withCode(code));
}

function withCode(code: unknown, more: object = {}): Error {
  return Object.assign(new Error('secret'), { code, ...more });
}

/** What Node gives where there is no connection. */
const connecting = (code: string) => withCode(code, { syscall: 'connect' });

const retry = { 'retry-after': '1' };

describe('toAnswer', () => {
  it.each([
    [
      'a fault in its own words',
      new Fault(ERRORS.INVALID_PLANT, 'id must be good'),
      { status: 400, body: { error: 1003, message: 'id must be good' }, headers: {} },
    ],
    [
      "a fault in its kind's words, with headers",
      new Fault(ERRORS.OVERLOADED),
      { status: 503, body: { error: 5002, message: 'overloaded' }, headers: retry },
    ],
  ])('%s', (_name, fault, answer) => {
    expect(toAnswer(fault)).toEqual(answer);
  });

  it.each([
    ['a 404 of Nest', new NotFoundException('secret'), ERRORS.NO_SUCH_PATH],
    ['another 4xx of Nest', new ForbiddenException('secret'), ERRORS.BAD_REQUEST],
    ['a 5xx of Nest', new HttpException('secret', 502), ERRORS.INTERNAL],
    ['an Error', new Error('secret'), ERRORS.INTERNAL],
    ['a text', 'secret', ERRORS.INTERNAL],
    ['nothing', undefined, ERRORS.INTERNAL],
    [
      'an Error with a status',
      Object.assign(new Error('secret'), { status: 400 }),
      ERRORS.INTERNAL,
    ],
    ['a locked store', failed('SQLITE_BUSY'), ERRORS.STORE_AWAY],
    ['a locked store, more exactly', failed('SQLITE_BUSY_SNAPSHOT'), ERRORS.STORE_AWAY],
    ['a full disk', failed('SQLITE_FULL'), ERRORS.STORE_AWAY],
    ['a disk that fails', failed('SQLITE_IOERR_FSYNC'), ERRORS.STORE_AWAY],
    ['a store that is read-only', failed('SQLITE_READONLY'), ERRORS.STORE_AWAY],
    ['a damaged store', failed('SQLITE_CORRUPT'), ERRORS.STORE_AWAY],
    ['a server that is read-only', failed('25006'), ERRORS.STORE_AWAY],
    ['a server out of connections', failed('53300'), ERRORS.STORE_AWAY],
    ['a server that stops a statement', failed('57014'), ERRORS.STORE_AWAY],
    ['a server in recovery', failed('XX000'), ERRORS.STORE_AWAY],
    ['a table that is missing', failed('42P01'), ERRORS.INTERNAL],
    ['a server that refuses', connecting('ECONNREFUSED'), ERRORS.STORE_AWAY],
    ['a socket that is not there', connecting('ENOENT'), ERRORS.STORE_AWAY],
    ['a file that is not there', withCode('ENOENT'), ERRORS.INTERNAL],
    ['a wrong statement', failed('SQLITE_ERROR'), ERRORS.INTERNAL],
    ['a broken constraint', failed('SQLITE_CONSTRAINT_NOTNULL'), ERRORS.INTERNAL],
    ['a statement that failed without a code', failed(undefined), ERRORS.INTERNAL],
  ])('%s says nothing of its insides', (_name, fault, { status, error, message }) => {
    const answer = toAnswer(fault);
    expect(answer).toMatchObject({ status, body: { error, message } });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});
