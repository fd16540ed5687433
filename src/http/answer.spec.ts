/** @engine sqlite */
import { ForbiddenException, HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { toAnswer } from './answer.js';
import { ERRORS, Fault, StoreUnavailable } from '../errors/errors.js';

const retry = ['retry-after', '1'];

describe('toAnswer', () => {
  it.each([
    [
      'a fault in its own words',
      new Fault(ERRORS.INVALID_PLANT, 'id must be good'),
      { status: 400, body: { error: 1003, message: 'id must be good' }, headers: [] },
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
    ['an unavailable store', new StoreUnavailable('secret'), ERRORS.STORE_UNAVAILABLE],
    ['an Error', new Error('secret'), ERRORS.INTERNAL],
    ['a text', 'secret', ERRORS.INTERNAL],
    ['nothing', undefined, ERRORS.INTERNAL],
    [
      'an Error with a status',
      Object.assign(new Error('secret'), { status: 400 }),
      ERRORS.INTERNAL,
    ],
  ])('%s says nothing of its insides', (_name, fault, { status, error, message }) => {
    const answer = toAnswer(fault);
    expect(answer).toMatchObject({ status, body: { error, message } });
    expect(JSON.stringify(answer)).not.toContain('secret');
  });
});
