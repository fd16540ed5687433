/** @engine sqlite */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';
import { tally } from '../support/received.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const THOUSAND = 1_000;

it('serves others beside a thousand slow headers and a thousand unfinished bodies', async () => {
  const service = await ServiceProcess.start();
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
  const responses = await Promise.all(range(THOUSAND).map(create));
  expect(tally(responses)).toEqual({ '200 {"name":"n"}': THOUSAND });
  // Headers may take 10 seconds, a body 30.
  await Promise.all(slow.map((connection) => connection.closed()));
  clearInterval(drip);
  expect(half.filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect((await create(THOUSAND)).status).toBe(200);
  for (const connection of half) connection.close();
  expect(await service.store.count()).toBe(THOUSAND + 1);
  await service.remove();
});

/** A service with timeouts of a second instead of the usual ones. */
let service: Service;
beforeAll(async () => {
  service = await Service.start();
  const server = service.app.getHttpServer();
  server.requestTimeout = server.headersTimeout = server.keepAliveTimeout = 2_000;
});
afterAll(() => service.stop());

const LATE = {
  status: 408,
  headers: { connection: 'close' },
  body: {
    error: 3004,
    message: 'the request did not arrive in time: its headers have 10 s, all of it 30 s',
  },
};

it('responds to late headers with 408 and closes the connection', async () => {
  const connection = await service.connect();
  connection.write('POST /plants HTTP/1.1\r\nHost: x\r\n');
  expect(await connection.read()).toMatchObject(LATE);
  await connection.closed();
});

it('responds to a late body with 408 and stores nothing, even if the rest arrives', async () => {
  const connection = await service.connect(true);
  const body = '{"id":8,"name":"n"}';
  const headers = { ...service.client.headers, 'content-length': `${body.length}` };
  connection.write(requestText(headers, body.slice(0, -1)));
  expect(await connection.read()).toMatchObject(LATE);
  // The rest of the body, and a byte that makes the client notice the closed connection.
  const sending = setInterval(() => connection.write(body.slice(-1)), 50);
  await connection.closed();
  clearInterval(sending);
  await expect(connection.read()).rejects.toThrow('the connection ended after: ');
  expect(await service.store.plant(8n)).toBeUndefined();
});

/** Stops this process, and with it the service, for longer than a client may take. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4_500);
}

const served = { status: 200, body: { name: 'n' } };
const request = (to = service) => requestText(to.client.headers, '{"id":7,"name":"n"}');

it('a service that stood still serves what arrived meanwhile: on new and idle connections, and the rest of what it had begun to read', async () => {
  const three = [1, 2, 3].map(() => service.connect());
  const [idle, inHead, inBody] = await Promise.all(three);
  expect(await idle?.write(request()).read()).toMatchObject(served);
  inHead?.write(request().slice(0, 20));
  inBody?.write(request().slice(0, -5));
  await sleep(100);
  const fresh = await service.connect();
  const arriving = [
    idle?.write(request()),
    inHead?.write(request().slice(20)),
    inBody?.write(request().slice(-5)),
    fresh.write(request()),
  ];
  standStill();
  for (const connection of arriving) {
    expect(await connection?.read()).toMatchObject(served);
    connection?.close();
  }
});

it('blank lines do not keep an idle connection', async () => {
  const connection = await service.connect();
  expect(await connection.write(`\r\n\r\n${request()}`).read()).toMatchObject({ status: 200 });
  const sending = setInterval(() => connection.write('\r\n'), 50);
  await connection.closed();
  clearInterval(sending);
});

it('closes idle connections', async () => {
  const connection = await service.connect();
  const response = await connection.write(requestText(service.client.headers, '{}')).read();
  expect(response.headers['keep-alive']).toBe('timeout=2');
  await once(connection.socket, 'close');
});

// From here on tests have a service of their own, which then authenticates for all.

it('closes the connection of a client that reads no response and has sent CONNECT', async () => {
  const own = await Service.start();
  const server = own.app.getHttpServer();
  server.timeout = 500;
  const { socket } = await own.connect();
  socket.pause();
  const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
  socket.write(`${page.repeat(8)}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [, accepted] = (await once(server, 'connect')) as [IncomingMessage, Socket];
  if (!accepted.closed) await once(accepted, 'close');
  await own.stop();
});

it('a service that stood still serves a request on an open connection while it stops', async () => {
  const stopping = await Service.start();
  const connection = await stopping.connect();
  const send = () => connection.write(request(stopping));
  expect(await send().read()).toMatchObject(served);
  const stopped = stopping.stop();
  while (stopping.app.getHttpServer().listening) await sleep(1);
  // Timers that fall due then run before the sockets are read.
  await endOfTurn();
  send();
  standStill();
  expect(await connection.read()).toMatchObject(served);
  await stopped;
});

it('cuts off a refused client that never closes its side', async () => {
  const usual = await Service.start();
  const socket = connect({ port: usual.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.write('no HTTP\r\n\r\n');
  const ended = once(socket, 'end');
  socket.resume();
  await ended;
  const closed = new Promise((resolve) => socket.on('close', resolve));
  // A client notices a closed connection only when it sends.
  const sending = setInterval(() => socket.write('x'), 50);
  await closed;
  clearInterval(sending);
  await usual.stop();
});
