/** @engine sqlite */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const NO_TOKEN = {
  status: 401,
  body: { error: 2000, message: 'no bearer token: send `Authorization: Bearer TOKEN`' },
};
const INVALID_TOKEN = { status: 401, body: { error: 2001, message: 'invalid or expired token' } };
const json = { 'content-type': 'application/json' };
const wrong = { ...json, authorization: 'Bearer x' };

describe('401 comes before any check of the body', () => {
  const requests: [name: string, headers: Record<string, string>, body: string][] = [
    ['not JSON', json, '{'],
    ['no plant', json, '{}'],
    ['empty', json, ''],
    ['over the limit', json, 'x'.repeat(70_000)],
    ['another media type', { 'content-type': 'text/plain' }, 'oak'],
    ['no media type', {}, 'oak'],
    ['compressed', { ...json, 'content-encoding': 'gzip' }, 'oak'],
  ];
  it.each(requests)('%s', async (_name, headers, body) => {
    expect(await service.client.send({ headers, body })).toMatchObject(NO_TOKEN);
    const authorized = { ...headers, authorization: 'Bearer x' };
    expect(await service.client.send({ headers: authorized, body })).toMatchObject(INVALID_TOKEN);
  });
});

describe('401 comes before the body has arrived', () => {
  const requests: [name: string, headers: Record<string, string>, start: string][] = [
    ['a body that never ends', { ...json, 'content-length': '20' }, '{"id":'],
    ['a body that never starts', { ...json, 'content-length': '20' }, ''],
    ['a gigabyte', { ...json, 'content-length': '1000000000' }, '{"id":'],
    ['chunks without an end', { ...json, 'transfer-encoding': 'chunked' }, '6\r\n{"id":\r\n'],
  ];
  it.each(requests)('%s', async (_name, headers, start) => {
    for (const [authorization, response] of [
      [undefined, NO_TOKEN],
      ['Bearer x', INVALID_TOKEN],
    ] as const) {
      const connection = await service.connect();
      const all = authorization === undefined ? headers : { ...headers, authorization };
      connection.write(head(all)).write(start);
      expect(await connection.read()).toMatchObject(response);
      connection.close();
    }
  });

  it.each([
    ['no token', json, NO_TOKEN],
    ['a wrong token', wrong, INVALID_TOKEN],
  ])(
    'responds to Expect: 100-continue with %s by 401, not 100',
    async (_name, headers, response) => {
      const connection = await service.connect();
      connection.write(head({ ...headers, 'content-length': '20', expect: '100-continue' }));
      expect(await connection.read()).toMatchObject(response);
      connection.close();
    },
  );
});

it('keeps the connection open after a 401 once the body is complete', async () => {
  const connection = await service.connect();
  const body = 'x'.repeat(70_000);
  connection.write(requestText(json, body));
  expect(await connection.read()).toMatchObject(NO_TOKEN);
  connection.write(requestText({ ...service.client.headers }, '{"id":1,"name":"oak"}'));
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
  connection.close();
});

/** The head of a request. Its body is sent separately, or never. */
function head(headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /plants HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n`;
}
