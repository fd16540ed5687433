import { once } from 'node:events';
import { afterEach, expect, it } from '@jest/globals';
import { requestText, type RawConnection } from './support/raw-connection.js';
import { ServiceProcess } from './support/service-process.js';
import { Service } from './support/service.js';
import { tally } from './support/tally.js';

const THOUSAND = 1_000;
const range = (length: number) => Array.from({ length }, (_, i) => i);

let cleanUp: (() => Promise<void>) | undefined;
afterEach(() => cleanUp?.());

it('a thousand slow headers and a thousand half-sent bodies keep nobody from being served', async () => {
  const service = await ServiceProcess.start();
  cleanUp = () => service.remove();
  const client = service.client();
  const connect = () => Promise.all(range(THOUSAND).map(() => service.connect()));
  const [slow, half] = [await connect(), await connect()];
  for (const connection of slow) connection.write('POST /plants HTTP/1.1\r\nHost: x\r\nX: ');
  const drip = setInterval(() => slow.map((connection) => connection.write('x')), 500);
  for (const connection of half) {
    const headers = { ...client.headers, 'content-length': '60000' };
    connection.write(requestText(headers, '{"id":7,"name":"'));
  }
  const create = (id: number) => client.create({ id: BigInt(id), name: 'n' });
  const answers = await Promise.all(range(THOUSAND).map(create));
  expect(tally(answers)).toEqual({ '200 {"name":"n"}': THOUSAND });
  // Headers that take more than 10 seconds are cut off; a body has 30.
  await Promise.all(slow.map((connection) => connection.closed()));
  clearInterval(drip);
  expect(half.filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect((await create(THOUSAND)).status).toBe(200);
  for (const connection of half) connection.close();
  expect(await service.store.count()).toBe(THOUSAND + 1);
});

/** A service whose clients have a second, and not their usual time. */
async function hurried(): Promise<[Service, RawConnection]> {
  const service = await Service.start();
  cleanUp = () => service.stop();
  const server = service.app.getHttpServer();
  server.requestTimeout = server.headersTimeout = server.keepAliveTimeout = 1_000;
  return [service, await service.connect()];
}

const NOT_HTTP = { status: 400, body: { error: 3002, message: 'the request is not valid HTTP' } };

it('headers that come too late are answered with 400, and the connection is closed', async () => {
  const [, connection] = await hurried();
  connection.write('POST /plants HTTP/1.1\r\nHost: x\r\n');
  expect(await connection.read()).toMatchObject(NOT_HTTP);
  await connection.closed();
});

it('a body that comes too late is answered with 400, and stores nothing', async () => {
  const [service, connection] = await hurried();
  const headers = { ...service.client.headers, 'content-length': '60' };
  connection.write(requestText(headers, '{"id":7,"name":"n"}'));
  expect(await connection.read()).toMatchObject(NOT_HTTP);
  await connection.closed();
  expect(await service.store.count()).toBe(0);
});

it('an idle connection is closed in the end', async () => {
  const [service, connection] = await hurried();
  const answer = await connection.write(requestText(service.client.headers, '{}')).read();
  expect(answer.headers['keep-alive']).toBe('timeout=1');
  await once(connection.socket, 'close');
});
