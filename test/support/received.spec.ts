/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { published, type JsonObject } from './published.js';
import { conforms } from './received.js';

const JSON_TYPE = { 'content-type': 'application/json', 'x-request-id': 'r-1' };
const CHALLENGE = { ...JSON_TYPE, 'www-authenticate': 'Bearer realm="plant-store"' };
const RETRY = { ...JSON_TYPE, 'retry-after': '1' };
const ALLOW = { ...JSON_TYPE, allow: 'POST' };
const ALDER = '{"name":"Alder"}';
const ERROR = '{"error":1000,"message":"the body is not valid JSON"}';

/** A status, a body, its headers, and the request. */
type Response = [status: number, text: string, headers?: Record<string, string>, request?: string];

const check = (...[status, text, headers = JSON_TYPE, request = 'POST /plants']: Response) => {
  const [method = '', path = ''] = request.split(' ');
  return () => conforms({ method, path, status, headers: new Headers(headers), text });
};

describe('conforms', () => {
  it.each<Response>([
    [200, ALDER],
    [200, '{"name":"","tag":""}'],
    [200, ALDER, JSON_TYPE, 'POST /plants?access_token=x'],
    [400, ERROR],
    [401, ERROR, CHALLENGE],
    [500, ERROR],
    [503, ERROR, RETRY],
    [404, ERROR, JSON_TYPE, 'GET /elsewhere'],
    [405, ERROR, ALLOW, 'GET /plants'],
    [405, '', ALLOW, 'HEAD /plants'],
    [503, ERROR, RETRY, 'GET /elsewhere'],
    [501, '{"error":3003,"message":"no such transfer coding"}'],
  ])('accepts %i %s', (...response) => {
    expect(check(...response)).not.toThrow();
  });

  it.each<[problem: string, ...Response]>([
    ['the status 201 is not documented', 201, ALDER],
    ['POST /plants got 201 {}: ', 201, '{}'],
    ['the status 404 is not documented', 404, ERROR],
    ['the status 501 is not documented', 501, ERROR],
    ['must NOT have unevaluated properties', 200, '{"id":1,"name":"Alder"}'],
    ["must have required property 'name'", 200, '{"tag":"Alnus"}'],
    ['body/tag must be string', 200, '{"name":"Alder","tag":null}'],
    ['body must be object', 200, '[]'],
    ['the body is not JSON', 200, ''],
    ['the body is not JSON', 200, '{"name":"Alder"'],
    ['the media type is ""', 200, ALDER, {}],
    ['the media type is "text/html"', 200, ALDER, { 'content-type': 'text/html' }],
    ["must have required property 'message'", 400, '{"error":1000}'],
    ['body/error must be integer', 400, '{"error":"1000","message":""}'],
    ['body/error must be integer', 400, '{"error":1.5,"message":""}'],
    ['body/error must match format "int32"', 400, '{"error":2147483648,"message":""}'],
    ['must NOT have unevaluated properties', 400, '{"error":1,"message":"","stack":""}'],
    ['no header WWW-Authenticate', 401, ERROR],
    ['no header Retry-After', 503, ERROR],
    ['no header X-Request-Id', 500, ERROR, { 'content-type': 'application/json' }],
    ['200 is documented nowhere', 200, ERROR, JSON_TYPE, 'GET /elsewhere'],
    ["must have required property 'error'", 404, '{"statusCode":404}', JSON_TYPE, 'GET /'],
    ['the body is not JSON', 405, '', JSON_TYPE, 'GET /plants'],
  ])('refuses with "%s": %i %s', (problem, ...response) => {
    expect(check(...response)).toThrow(problem);
  });

  it('finds an operation by the template of its path, and HEAD as GET', () => {
    const paths = published.paths as JsonObject;
    const { post } = paths['/plants'] as JsonObject;
    paths['/plants/{id}/notes'] = { get: post ?? null };
    const get = (status: number, text: string, path: string, method = 'GET') =>
      check(status, text, JSON_TYPE, `${method} ${path}`);
    try {
      expect(get(200, ALDER, '/plants/7/notes?a=1')).not.toThrow();
      expect(get(200, '', '/plants/7/notes', 'HEAD')).not.toThrow();
      expect(get(200, '{}', '/plants/7/notes')).toThrow("must have required property 'name'");
      expect(get(201, '', '/plants/7/notes', 'HEAD')).toThrow('the status 201 is not documented');
      expect(get(200, '{}', '/plants/7/8/notes')).toThrow('200 is documented nowhere');
    } finally {
      delete paths['/plants/{id}/notes'];
    }
  });
});
