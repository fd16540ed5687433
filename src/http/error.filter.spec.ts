/** @engine sqlite */
import { BadRequestException, HttpException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { toErrorResponse } from './error.filter.js';
import { ERRORS, ApiException, StoreUnavailableException } from '../errors/error-codes.js';

const retry = ['retry-after', '1'];

describe('toErrorResponse', () => {
  it.each([
    [
      'a fault in its own words',
      new ApiException(ERRORS.INVALID_PLANT, 'id must be good'),
      { status: 400, body: { error: 1003, message: 'id must be good' }, headers: [] },
    ],
    [
      "a fault in its kind's words, with headers",
      new ApiException(ERRORS.OVERLOADED),
      { status: 503, body: { error: 5002, message: 'overloaded' }, headers: retry },
    ],
  ])('%s', (_name, fault, response) => {
    expect(toErrorResponse(fault)).toEqual(response);
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
    const response = { status, body: { error: 3005, message }, headers: [] };
    expect(toErrorResponse(exception)).toEqual(response);
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
  ])('%s says nothing of its insides', (_name, fault, { status, error, message }) => {
    const response = toErrorResponse(fault);
    expect(response).toMatchObject({ status, body: { error, message } });
    expect(JSON.stringify(response)).not.toContain('secret');
  });
});
