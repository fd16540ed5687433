/** @engine sqlite */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await Service.start();
});
afterAll(() => service.stop());

const HOST = 'host: localhost\r\n';

it('a client that closes its side after a request gets its response, and the connection ends', async () => {
  const connection = await service.connect(true);
  connection.write(requestText(service.client.headers, '{"id":5,"name":"oak"}')).socket.end();
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
  await connection.closed();
});

it('an Upgrade header that Connection does not name is ignored: the next request is served', async () => {
  const connection = await service.connect();
  const texts = [6, 7].map((id) =>
    requestText(service.client.headers, `{"id":${id},"name":"oak"}`),
  );
  connection.write(texts.join('').replace(HOST, `${HOST}upgrade: websocket\r\n`));
  for (let i = 0; i < 2; i++) expect((await connection.read()).status).toBe(200);
  connection.close();
});

it.each([
  ['the whole URL as the target', 'POST http://localhost/plants HTTP/1.1'],
  ['an upgrade that is not taken', 'POST /plants HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c'],
])('%s is valid HTTP', async (_name, start) => {
  const connection = await service.connect();
  const text = requestText(service.client.headers, '{"id":1,"name":"oak"}');
  connection.write(text.replace('POST /plants HTTP/1.1', start));
  expect(await connection.read()).toMatchObject({ status: 200, body: { name: 'oak' } });
  connection.close();
});

it('pipelined requests get responses in order', async () => {
  const connection = await service.connect();
  const names = ['a', 'b', 'c', 'd'];
  const { headers } = service.client;
  const texts = names.map((name, i) => requestText(headers, `{"id":${100 + i},"name":"${name}"}`));
  connection.write(texts.join(''));
  for (const name of names) {
    expect(await connection.read()).toMatchObject({ status: 200, body: { name } });
  }
  connection.close();
});

it('the service keeps serving after a client has gone', async () => {
  for (const bytes of ['', 'POST /pl', requestText(service.client.headers, '{"id":200')]) {
    (await service.connect()).write(bytes).close();
  }
  const { status } = await service.client.post('{"id":201,"name":"oak"}');
  expect(status).toBe(200);
});

it('responds with 500 if a response cannot be made, and goes on', async () => {
  const adapter = service.app.getHttpAdapter();
  const reply = jest.spyOn(adapter, 'reply').mockImplementation(() => {
    throw new Error('broken');
  });
  const connection = await service.connect();
  connection.write(requestText(service.client.headers, '{"id": 77, "name": "oak"}'));
  expect(await connection.read()).toMatchObject({ status: 500, body: { error: 5000 } });
  connection.close();
  reply.mockRestore();
  expect((await service.client.create({ id: 77n, name: 'oak' })).status).toBe(200);
});
