/** @engine sqlite */
import { BadRequestException, HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { toApiException } from './error.filter.js';
import { ERRORS, ApiException, StoreUnavailableException } from '../errors/error-codes.js';

/** Status, error number and message of the response to an exception. */
function respondTo(thrown: unknown) {
  const { kind, message } = toApiException(thrown);
  return { status: kind.status, error: kind.error, message };
}

describe('the response to an exception', () => {
  it('of ours is the same exception', () => {
    const exception = new ApiException(ERRORS.INVALID_PLANT, 'id must be good');
    expect(toApiException(exception)).toBe(exception);
  });

  it.each([
    [new NotFoundException('plant 7'), 404, 'plant 7'],
    [new NotFoundException(), 404, 'Not Found'],
    [
      new BadRequestException(['a must be short', 'b is missing']),
      400,
      'a must be short; b is missing',
    ],
    [new HttpException({ reason: 'x' }, 418), 418, 'Http Exception'],
    [new HttpException('gone', 410), 410, 'gone'],
  ])('%p keeps its status and its message', (exception, status, message) => {
    expect(respondTo(exception)).toEqual({ status, error: 3005, message });
  });

  it.each([
    [
      'a 5xx of Nest',
      new HttpException('secret', 502),
      { ...ERRORS.INTERNAL, status: 502, error: 3005 },
    ],
    ['an unavailable store', new StoreUnavailableException('secret'), ERRORS.STORE_UNAVAILABLE],
    ['an Error', new Error('secret'), ERRORS.INTERNAL],
    ['a text', 'secret', ERRORS.INTERNAL],
    ['nothing', undefined, ERRORS.INTERNAL],
    [
      'an Error with a status',
      Object.assign(new Error('secret'), { status: 400 }),
      ERRORS.INTERNAL,
    ],
  ])('of %s says nothing of its insides', (_name, thrown, { status, error, message }) => {
    expect(respondTo(thrown)).toEqual({ status, error, message });
  });
});
