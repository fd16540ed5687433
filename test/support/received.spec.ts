/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { receive } from './received.js';

const JSON_TYPE = { 'content-type': 'application/json', 'x-request-id': 'r-1' };
const ALDER = '{"name":"Alder"}';
const ERROR = '{"error":1000,"message":"the body is not valid JSON"}';

type Response = [status: number, text: string, headers?: Record<string, string>, request?: string];

// Without a refusal the check of every response in a test would pass whatever comes.
it.each<[problem: string, ...Response]>([
  ['the status 201 is not documented', 201, ALDER],
  ['the status 501 is not documented', 501, ERROR],
  ['must NOT have unevaluated properties', 200, '{"id":1,"name":"Alder"}'],
  ["must have required property 'name'", 200, '{"tag":"Alnus"}'],
  ['body/tag must be string', 200, '{"name":"Alder","tag":null}'],
  ['the body is not JSON', 200, '{"name":"Alder"'],
  ['the media type is "text/html"', 200, ALDER, { 'content-type': 'text/html' }],
  ['body/error must match format "int32"', 400, '{"error":2147483648,"message":""}'],
  ['no header WWW-Authenticate', 401, ERROR],
  ['no header X-Request-Id', 500, ERROR, { 'content-type': 'application/json' }],
  ['200 is documented nowhere', 200, ERROR, JSON_TYPE, 'GET /elsewhere'],
  ["must have required property 'error'", 404, '{"statusCode":404}', JSON_TYPE, 'GET /'],
])('refuses with "%s": %i %s', (problem, status, text, headers = JSON_TYPE, request) => {
  const [method = '', path = ''] = (request ?? 'POST /plants').split(' ');
  expect(() => receive({ method, path }, status, headers, text)).toThrow(problem);
});
