/** @engine sqlite */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { RawConnection, requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';
import { tally } from '../support/received.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const THOUSAND = 1_000;
let cleanUp: (() => Promise<void>) | undefined;
afterEach(() => cleanUp?.());

it('serves others beside a thousand slow headers and a thousand unfinished bodies', async () => {
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
  // Headers may take 10 seconds, a body 30.
  await Promise.all(slow.map((connection) => connection.closed()));
  clearInterval(drip);
  expect(half.filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect((await create(THOUSAND)).status).toBe(200);
  for (const connection of half) connection.close();
  expect(await service.store.count()).toBe(THOUSAND + 1);
});

/** A service with timeouts of a second instead of the usual ones. */
async function hurried(allowHalfOpen = false): Promise<[Service, RawConnection]> {
  const service = await Service.start();
  cleanUp = () => service.stop();
  const server = service.app.getHttpServer();
  server.requestTimeout = server.headersTimeout = server.keepAliveTimeout = 1_000;
  return [service, await RawConnection.open(service.port, allowHalfOpen)];
}

const LATE = {
  status: 408,
  headers: { connection: 'close' },
  body: {
    error: 3004,
    message: 'the request did not arrive in time: its headers have 10 s, all of it 30 s',
  },
};

it('responds to late headers with 408 and closes the connection', async () => {
  const [, connection] = await hurried();
  connection.write('POST /plants HTTP/1.1\r\nHost: x\r\n');
  expect(await connection.read()).toMatchObject(LATE);
  await connection.closed();
});

it('responds to a late body with 408 and stores nothing, even if the rest arrives', async () => {
  const [service, connection] = await hurried(true);
  const body = '{"id":7,"name":"n"}';
  const headers = { ...service.client.headers, 'content-length': `${body.length}` };
  connection.write(requestText(headers, body.slice(0, -1)));
  expect(await connection.read()).toMatchObject(LATE);
  // The rest of the body, and a byte that makes the client notice the closed connection.
  const sending = setInterval(() => connection.write(body.slice(-1)), 50);
  await connection.closed();
  clearInterval(sending);
  await expect(connection.read()).rejects.toThrow('the connection ended after: ');
  expect(await service.store.count()).toBe(0);
});

/** Stops this process, and with it the service, for longer than a client may take. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
}

describe('a service that stood still serves what arrived meanwhile', () => {
  const body = '{"id":7,"name":"n"}';
  const answer = { status: 200, body: { name: 'n' } };

  it('on a new connection', async () => {
    const [service, connection] = await hurried();
    connection.write(requestText(service.client.headers, body));
    standStill();
    expect(await connection.read()).toMatchObject(answer);
    connection.close();
  });

  it.each([
    ['in its head', 20],
    ['in its body', -5],
  ])('a request that it had read a part of: %s', async (_name, at) => {
    const [service, connection] = await hurried();
    const text = requestText(service.client.headers, body);
    connection.write(text.slice(0, at));
    await sleep(100);
    connection.write(text.slice(at));
    standStill();
    expect(await connection.read()).toMatchObject(answer);
    connection.close();
  });

  it('on an idle connection', async () => {
    const [service, connection] = await hurried();
    const send = () => connection.write(requestText(service.client.headers, body));
    expect(await send().read()).toMatchObject(answer);
    send();
    standStill();
    expect(await connection.read()).toMatchObject(answer);
    connection.close();
  });

  it('on an open connection while it stops', async () => {
    const service = await Service.start();
    const connection = await service.connect();
    const send = () => connection.write(requestText(service.client.headers, body));
    expect(await send().read()).toMatchObject(answer);
    const stopped = service.stop();
    while (service.app.getHttpServer().listening) await sleep(1);
    // Timers that fall due then run before the sockets are read.
    await endOfTurn();
    send();
    standStill();
    expect(await connection.read()).toMatchObject(answer);
    await stopped;
  });
});

it('blank lines do not keep an idle connection', async () => {
  const [service, connection] = await hurried();
  const request = requestText(service.client.headers, '{"id":7,"name":"n"}');
  expect(await connection.write(`\r\n\r\n${request}`).read()).toMatchObject({ status: 200 });
  const sending = setInterval(() => connection.write('\r\n'), 50);
  await connection.closed();
  clearInterval(sending);
});

it('closes idle connections', async () => {
  const [service, connection] = await hurried();
  const answer = await connection.write(requestText(service.client.headers, '{}')).read();
  expect(answer.headers['keep-alive']).toBe('timeout=1');
  await once(connection.socket, 'close');
});

it('closes the connection of a client that reads no response and has sent CONNECT', async () => {
  const service = await Service.start();
  cleanUp = () => service.stop();
  const server = service.app.getHttpServer();
  server.timeout = 500;
  const { socket } = await service.connect();
  socket.pause();
  const page = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';
  socket.write(`${page.repeat(8)}CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n`);
  const [, accepted] = (await once(server, 'connect')) as [IncomingMessage, Socket];
  if (!accepted.closed) await once(accepted, 'close');
});

it('cuts off a refused client that never closes its side', async () => {
  const service = await Service.start();
  cleanUp = () => service.stop();
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
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
});
