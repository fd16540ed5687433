/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { published, type JsonObject } from './published.js';
import { conforms, type Answer } from './received.js';

const JSON_TYPE = { 'content-type': 'application/json', 'x-request-id': 'r-1' };
const CHALLENGE = { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="plant-store"' };
const RETRY = { ...JSON_TYPE, 'retry-after': '1' };
const ERROR = '{"error":1000,"message":"the body is not valid JSON"}';

function answer(
  status: number,
  text: string,
  headers: Record<string, string> = JSON_TYPE,
  request = 'POST /plants',
): Answer {
  const [method = '', path = ''] = request.split(' ');
  return { method, path, status, headers: new Headers(headers), text };
}

describe('conforms', () => {
  it.each([
    answer(200, '{"name":"Alder"}'),
    answer(200, '{"name":"","tag":""}'),
    answer(200, '{"name":"Alder"}', JSON_TYPE, 'POST /plants?access_token=x'),
    answer(400, ERROR),
    answer(401, ERROR, CHALLENGE),
    answer(500, ERROR),
    answer(503, ERROR, RETRY),
    answer(404, ERROR, JSON_TYPE, 'GET /elsewhere'),
    answer(405, ERROR, { ...JSON_TYPE, allow: 'POST' }, 'GET /plants'),
    answer(405, '', { ...JSON_TYPE, allow: 'POST' }, 'HEAD /plants'),
    answer(503, ERROR, RETRY, 'GET /elsewhere'),
    answer(501, '{"error":3003,"message":"no such transfer coding"}'),
  ])('accepts $method $path $status $text', (documented) => {
    expect(() => conforms(documented)).not.toThrow();
  });

  it.each<[Answer, string]>([
    [answer(201, '{"name":"Alder"}'), 'the status 201 is not documented'],
    [answer(404, ERROR), 'the status 404 is not documented'],
    [answer(501, ERROR), 'the status 501 is not documented'],
    [answer(200, '{"id":1,"name":"Alder"}'), 'must NOT have unevaluated properties'],
    [answer(200, '{"tag":"Alnus"}'), "must have required property 'name'"],
    [answer(200, '{"name":"Alder","tag":null}'), 'body/tag must be string'],
    [answer(200, '[]'), 'body must be object'],
    [answer(200, ''), 'the body is not JSON'],
    [answer(200, '{"name":"Alder"'), 'the body is not JSON'],
    [answer(200, '{"name":"Alder"}', {}), 'the media type is ""'],
    [answer(200, '{"name":"Alder"}', { 'content-type': 'text/html' }), 'the media type is "text/'],
    [answer(400, '{"error":1000}'), "must have required property 'message'"],
    [answer(400, '{"error":"1000","message":""}'), 'body/error must be integer'],
    [answer(400, '{"error":1.5,"message":""}'), 'body/error must be integer'],
    [answer(400, '{"error":2147483648,"message":""}'), 'body/error must match format "int32"'],
    [answer(400, '{"error":1,"message":"","stack":""}'), 'must NOT have unevaluated properties'],
    [answer(401, ERROR), 'no header WWW-Authenticate'],
    [answer(503, ERROR), 'no header Retry-After'],
    [answer(500, ERROR, { 'content-type': 'application/json' }), 'no header X-Request-Id'],
    [answer(200, ERROR, JSON_TYPE, 'GET /elsewhere'), '200 is documented nowhere'],
    [answer(404, '{"statusCode":404}', JSON_TYPE, 'GET /'), "must have required property 'error'"],
    [answer(405, '', JSON_TYPE, 'GET /plants'), 'the body is not JSON'],
  ])('refuses %j', (undocumented, problem) => {
    expect(() => conforms(undocumented)).toThrow(problem);
  });

  it('finds an operation by the template of its path, and HEAD as GET', () => {
    const paths = published.paths as JsonObject;
    const { post } = paths['/plants'] as JsonObject;
    paths['/plants/{id}/notes'] = { get: post ?? null };
    try {
      const check = (status: number, text: string, request: string) => () =>
        conforms(answer(status, text, JSON_TYPE, request));
      expect(check(200, '{"name":"Alder"}', 'GET /plants/7/notes?a=1')).not.toThrow();
      expect(check(200, '', 'HEAD /plants/7/notes')).not.toThrow();
      expect(check(200, '{}', 'GET /plants/7/notes')).toThrow("must have required property 'name'");
      expect(check(201, '', 'HEAD /plants/7/notes')).toThrow('the status 201 is not documented');
      expect(check(200, '{}', 'GET /plants/7/8/notes')).toThrow('200 is documented nowhere');
    } finally {
      delete paths['/plants/{id}/notes'];
    }
  });

  it('names the wrong answer', () => {
    expect(() => conforms(answer(201, '{}'))).toThrow('POST /plants answered 201 {}: ');
  });
});
