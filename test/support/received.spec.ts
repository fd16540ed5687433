/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { published, type JsonObject } from './published.js';
import { conforms, type CheckedResponse } from './received.js';

const JSON_TYPE = { 'content-type': 'application/json', 'x-request-id': 'r-1' };
const CHALLENGE = { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="plant-store"' };
const RETRY = { ...JSON_TYPE, 'retry-after': '1' };
const ERROR = '{"error":1000,"message":"the body is not valid JSON"}';

function response(
  status: number,
  text: string,
  headers: Record<string, string> = JSON_TYPE,
  request = 'POST /plants',
): CheckedResponse {
  const [method = '', path = ''] = request.split(' ');
  return { method, path, status, headers: new Headers(headers), text };
}

describe('conforms', () => {
  it.each([
    response(200, '{"name":"Alder"}'),
    response(200, '{"name":"","tag":""}'),
    response(200, '{"name":"Alder"}', JSON_TYPE, 'POST /plants?access_token=x'),
    response(400, ERROR),
    response(401, ERROR, CHALLENGE),
    response(500, ERROR),
    response(503, ERROR, RETRY),
    response(404, ERROR, JSON_TYPE, 'GET /elsewhere'),
    response(405, ERROR, { ...JSON_TYPE, allow: 'POST' }, 'GET /plants'),
    response(405, '', { ...JSON_TYPE, allow: 'POST' }, 'HEAD /plants'),
    response(503, ERROR, RETRY, 'GET /elsewhere'),
    response(501, '{"error":3003,"message":"no such transfer coding"}'),
  ])('accepts $method $path $status $text', (documented) => {
    expect(() => conforms(documented)).not.toThrow();
  });

  it.each<[CheckedResponse, string]>([
    [response(201, '{"name":"Alder"}'), 'the status 201 is not documented'],
    [response(404, ERROR), 'the status 404 is not documented'],
    [response(501, ERROR), 'the status 501 is not documented'],
    [response(200, '{"id":1,"name":"Alder"}'), 'must NOT have unevaluated properties'],
    [response(200, '{"tag":"Alnus"}'), "must have required property 'name'"],
    [response(200, '{"name":"Alder","tag":null}'), 'body/tag must be string'],
    [response(200, '[]'), 'body must be object'],
    [response(200, ''), 'the body is not JSON'],
    [response(200, '{"name":"Alder"'), 'the body is not JSON'],
    [response(200, '{"name":"Alder"}', {}), 'the media type is ""'],
    [
      response(200, '{"name":"Alder"}', { 'content-type': 'text/html' }),
      'the media type is "text/',
    ],
    [response(400, '{"error":1000}'), "must have required property 'message'"],
    [response(400, '{"error":"1000","message":""}'), 'body/error must be integer'],
    [response(400, '{"error":1.5,"message":""}'), 'body/error must be integer'],
    [response(400, '{"error":2147483648,"message":""}'), 'body/error must match format "int32"'],
    [response(400, '{"error":1,"message":"","stack":""}'), 'must NOT have unevaluated properties'],
    [response(401, ERROR), 'no header WWW-Authenticate'],
    [response(503, ERROR), 'no header Retry-After'],
    [response(500, ERROR, { 'content-type': 'application/json' }), 'no header X-Request-Id'],
    [response(200, ERROR, JSON_TYPE, 'GET /elsewhere'), '200 is documented nowhere'],
    [
      response(404, '{"statusCode":404}', JSON_TYPE, 'GET /'),
      "must have required property 'error'",
    ],
    [response(405, '', JSON_TYPE, 'GET /plants'), 'the body is not JSON'],
  ])('refuses %j', (undocumented, problem) => {
    expect(() => conforms(undocumented)).toThrow(problem);
  });

  it('finds an operation by the template of its path, and HEAD as GET', () => {
    const paths = published.paths as JsonObject;
    const { post } = paths['/plants'] as JsonObject;
    paths['/plants/{id}/notes'] = { get: post ?? null };
    try {
      const check = (status: number, text: string, request: string) => () =>
        conforms(response(status, text, JSON_TYPE, request));
      expect(check(200, '{"name":"Alder"}', 'GET /plants/7/notes?a=1')).not.toThrow();
      expect(check(200, '', 'HEAD /plants/7/notes')).not.toThrow();
      expect(check(200, '{}', 'GET /plants/7/notes')).toThrow("must have required property 'name'");
      expect(check(201, '', 'HEAD /plants/7/notes')).toThrow('the status 201 is not documented');
      expect(check(200, '{}', 'GET /plants/7/8/notes')).toThrow('200 is documented nowhere');
    } finally {
      delete paths['/plants/{id}/notes'];
    }
  });

  it('names the wrong response', () => {
    expect(() => conforms(response(201, '{}'))).toThrow('POST /plants got 201 {}: ');
  });
});
