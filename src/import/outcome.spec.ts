import { describe, expect, it } from '@jest/globals';
import { outcomeOf, type Outcome } from './outcome.js';

const ERROR = '{"error":5002,"message":"overloaded"}';

describe('outcomeOf', () => {
  it.each<[number, string, Outcome]>([
    [200, '{"name":""}', { kind: 'stored' }],
    [400, '{"error":1003,"message":"m"}', { kind: 'refused', error: 1003, message: 'm' }],
    [503, ERROR, { kind: 'again', reason: '503, error 5002: overloaded', wait: 0 }],
    [429, ERROR, { kind: 'again', reason: '429, error 5002: overloaded', wait: 0 }],
    [502, '<html>', { kind: 'again', reason: '502', wait: 0 }],
  ])('reads %i %s', (status, body, outcome) => {
    expect(outcomeOf({ status, headers: {}, body })).toEqual(outcome);
  });

  it.each([
    ['2', 2_000],
    ['0', 0],
    ['soon', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['99999999999', 600_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 600_000],
  ])('waits as Retry-After: %s asks', (header, wait) => {
    const answer = { status: 503, headers: { 'retry-after': header }, body: ERROR };
    expect(outcomeOf(answer)).toMatchObject({ kind: 'again', wait });
  });

  it.each([
    [401, '{"error":2001,"message":"no"}', 'the service answered 401, error 2001: no'],
    [404, '<html>', 'the answer, of status 404, is not one of a plant store'],
    [200, '{"id":1}', 'the answer, of status 200, is not one of a plant store'],
    [200, 'null', 'the answer, of status 200, is not one of a plant store'],
    [302, '', 'the answer, of status 302, is not one of a plant store'],
    [400, 'Bad Request', 'the answer, of status 400, is not one of a plant store'],
  ])('gives up on %i %s', (status, body, message) => {
    expect(() => outcomeOf({ status, headers: {}, body })).toThrow(new Error(message));
  });
});
