/** @engine sqlite */
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { service, startService } from '../support/own.js';
import { INVALID_TOKEN, NO_TOKEN } from './refusals.js';

startService();

type Row = [name: string, headers: Record<string, string>, body: string];

const json = { 'content-type': 'application/json' };

describe.each([
  ['no token', {}, NO_TOKEN],
  ['a wrong token', { authorization: 'Bearer x' }, INVALID_TOKEN],
])('401 for %s comes', (_name, credentials, refusal) => {
  it.each<Row>([
    ['not JSON', json, '{'],
    ['no plant', json, '{}'],
    ['empty', json, ''],
    ['over the limit', json, 'x'.repeat(70_000)],
    ['of another media type', { 'content-type': 'text/plain' }, 'oak'],
    ['of no media type', {}, 'oak'],
    ['compressed', { ...json, 'content-encoding': 'gzip' }, 'oak'],
  ])('before any check of a body that is %s', async (_what, headers, body) => {
    const sent = { headers: { ...headers, ...credentials }, body };
    expect(await service.client.send(sent)).toMatchObject(refusal);
  });

  it.each<Row>([
    ['never ends', { 'content-length': '20' }, '{"id":'],
    ['never starts', { 'content-length': '20' }, ''],
    ['has a gigabyte', { 'content-length': '1000000000' }, '{"id":'],
    ['has chunks without an end', { 'transfer-encoding': 'chunked' }, '6\r\n{"id":\r\n'],
    ['waits for 100 Continue', { 'content-length': '20', expect: '100-continue' }, ''],
  ])('before the arrival of a body that %s', async (_what, headers, start) => {
    const sent = requestText({ ...json, ...headers, ...credentials }, start);
    expect(await service.sendBytes(sent)).toMatchObject(refusal);
  });
});

it('keeps the connection open after a 401 once the body is complete', async () => {
  using connection = (await service.connect()).write(requestText(json, 'x'.repeat(70_000)));
  expect(await connection.read()).toMatchObject(NO_TOKEN);
  connection.write(requestText({ ...service.client.headers }, '{"id":1,"name":"oak"}'));
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
});

it('a client that ends its connection with a 401, and still sends its body, is not reset', async () => {
  const connection = await service.connect(true);
  connection.write(requestText({ ...json, 'content-length': '20', connection: 'close' }));
  const ended = once(connection.socket, 'end');
  expect(await connection.read()).toMatchObject(NO_TOKEN);
  await ended;
  connection.write('{"id":1,').socket.end('"name":"oak"');
  await connection.closed();
  expect(connection.socket.errored).toBeNull();
});
