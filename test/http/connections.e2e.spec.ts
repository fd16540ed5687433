/** @engine sqlite */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Request, RequestHandler } from 'express';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { requestEnd } from '../../src/http/request-context.js';
import { bodies, refusals } from '../../src/http/turns.js';
import { GroupCommit } from '../../src/plants/group-commit.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { service, startService } from '../support/own.js';
import { countInFlight, Service } from '../support/service.js';

startService();

const range = (length: number) => Array.from({ length }, (_, i) => i);
const plant = (id: number, name = 'oak') =>
  requestText(service.client.headers, `{"id":${id},"name":"${name}"}`);

it(`${MAX_PIPELINED} pipelined requests get responses in order, and are stored`, async () => {
  using connection = await service.connect();
  const nameOf = (id: number) => `${id}`.padEnd(100, 'n');
  const ids = range(MAX_PIPELINED).map((i) => 200 + i);
  connection.write(ids.map((id) => plant(id, nameOf(id))).join(''));
  for (const id of ids) {
    expect(await connection.read()).toMatchObject({ status: 200, body: { name: nameOf(id) } });
    expect((await service.store.plant(BigInt(id)))?.name).toBe(nameOf(id));
  }
});

it('100-continue of a pipelined request does not get into the response before it', async () => {
  using connection = await service.connect();
  const plants = [80, 81].map((id) => ({ id, name: `${id}`.padEnd(1_000, 'n') }));
  const [first = '', second = ''] = plants.map((plant) => JSON.stringify(plant));
  const { headers } = service.client;
  connection.write(
    requestText(headers, first) + requestText({ ...headers, expect: '100-continue' }, second),
  );
  for (const { name } of plants)
    expect(await connection.read()).toMatchObject({ status: 200, body: { name } });
});

it.each([
  ['a refusal waits for a turn of the event loop', 1, '{'],
  ['a large body waits for one for each 4 KB', 16, '{'.padEnd(62_000)],
])('%s', async (_what, turns, body) => {
  const connections = await Promise.all(range(20).map(() => service.connect()));
  for (const connection of connections) await connection.write(plant(91)).read();
  /** In which turn of the event loop each response was sent. */
  const sent: number[] = [];
  const noteTurn = (message: unknown) => {
    const { response } = message as { readonly response: ServerResponse };
    response.once('prefinish', () => sent.push(performance.nodeTiming.uvMetricsInfo.loopCount));
  };
  subscribe('http.server.request.start', noteTurn);
  for (const connection of connections) connection.write(requestText(service.client.headers, body));
  const responses = await Promise.all(connections.map((connection) => connection.read()));
  unsubscribe('http.server.request.start', noteTurn);
  expect(responses.map(({ status }) => status)).toEqual(connections.map(() => 400));
  const turnsBetween = sent.slice(1).map((turn, i) => turn - (sent[i] ?? 0));
  expect(turnsBetween).toHaveLength(19);
  expect(Math.min(...turnsBetween)).toBeGreaterThanOrEqual(turns);
  for (const connection of connections) connection.close();
});

it('a client that has left takes no turn of the event loop', async () => {
  const connection = await service.connect();
  connection.close();
  let passed = 0;
  setImmediate(() => (passed += 1));
  await refusals.take(connection, 100);
  expect(passed).toBe(0);
});

it('a refusal does not wait for turns behind the bodies of others', async () => {
  using connection = await service.connect();
  let isOver = false;
  void bodies.take(connection, 200_000).then(() => (isOver = true));
  expect((await service.client.send({ headers: {}, body: '{}' })).status).toBe(401);
  expect(isOver).toBe(false);
});

// From here on tests have a service of their own, which then authenticates for all.

it.each<[string, number, (connection: RawConnection, text: string) => unknown]>([
  ['one pipelined request too many', MAX_PIPELINED, (connection, text) => connection.write(text)],
  ['a client that leaves', MAX_PIPELINED, ({ socket }) => socket.resetAndDestroy()],
])(
  '%s ends all requests of the connection at once; others are served',
  async (_name, times, act) => {
    const own = await Service.start();
    const inFlight = countInFlight();
    const unlock = await own.store.lock();
    const connection = await own.connect();
    const text = requestText(own.client.headers, '{"id":1,"name":"n"}');
    connection.write(text.repeat(times));
    while (inFlight.count < times) await sleep(5);
    act(connection, text);
    await connection.closed();
    while (inFlight.count > 0) await sleep(5);
    await unlock();
    expect((await own.client.create({ id: 2n, name: 'oak' })).status).toBe(200);
    await own.stop();
  },
);

it('the last response of a connection reaches a client that is still sending', async () => {
  const length = 2 ** 20;
  const sendLast: RequestHandler = (_request, response) =>
    void response.set('connection', 'close').end('x'.repeat(length));
  const own = await Service.start({}, [], (app) => app.use('/last', sendLast));
  // However long the client takes to read.
  jest.useFakeTimers({
    doNotFake: ['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate'],
  });
  const connection = await own.connect();
  const { socket } = connection.write('GET /last HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  let received = 0;
  socket.on('data', (chunk: Buffer) => (received += chunk.length));
  await new Promise((resolve) => requestEnd.subscribe(resolve));
  // A connection that was closed meanwhile would be reset by the rest.
  for (let turn = 0; turn < 10; turn++) {
    await new Promise(setImmediate);
    connection.write('more');
  }
  socket.resume();
  await connection.closed();
  jest.useRealTimers();
  expect(received).toBeGreaterThan(length);
  await own.stop();
});

describe('too late', () => {
  const LATE = {
    status: 408,
    headers: { connection: 'close' },
    body: { error: 3004, message: expect.stringMatching(/^the request did not arrive in time: /) },
  };
  /** A service with timeouts of a second instead of the usual ones. */
  let hasty: Service;
  beforeAll(async () => {
    hasty = await Service.start({ NODE_ENV: 'production' });
    const server = hasty.app.getHttpServer();
    server.requestTimeout = server.headersTimeout = server.keepAliveTimeout = 1_000;
  });
  afterAll(() => hasty.stop());

  it('is what the docs say: 10 s for headers, 30 s for a request, 75 s without a byte', () => {
    expect(service.app.getHttpServer()).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 75_000,
      timeout: 75_000,
      maxConnections: 256,
    });
  });

  it('responds to late headers with 408 and closes the connection', async () => {
    const connection = (await hasty.connect()).write('POST /plants HTTP/1.1\r\nHost: x\r\n');
    expect(await connection.read()).toMatchObject(LATE);
    await connection.closed();
  });

  it('responds to a late body with 408 and stores nothing, even if the rest arrives', async () => {
    const connection = await hasty.connect(true);
    const body = '{"id":8,"name":"n"}';
    const more = { 'content-length': `${body.length}`, 'x-request-id': 'late' };
    connection.write(requestText({ ...hasty.client.headers, ...more }, body.slice(0, -1)));
    const own = { 'x-request-id': 'late', ...LATE.headers };
    expect(await connection.read()).toMatchObject({ ...LATE, headers: own });
    // The rest of the body, and a byte that makes the client notice the closed connection.
    const sending = setInterval(() => connection.write(body.slice(-1)), 50);
    await connection.closed();
    clearInterval(sending);
    await expect(connection.read()).rejects.toThrow('the connection ended after: ');
    expect(await hasty.store.plant(8n)).toBeUndefined();
    const find = () => hasty.log.lines('Request').find(({ requestId }) => requestId === 'late');
    while (!find()) await sleep(5);
    expect(find()).toMatchObject({ status: 408, error: 3004, msg: 'POST /plants 408' });
  });

  it('stores nothing of a late request whose 408 waits behind another response', async () => {
    const requests: Request[] = [];
    const own = await Service.start({ DATABASE_TIMEOUT: '60s' }, [], (app) =>
      app.use(((request, _response, next) => {
        requests.push(request);
        next();
      }) satisfies RequestHandler),
    );
    const server = own.app.getHttpServer();
    server.requestTimeout = server.headersTimeout = 1_000;
    const unlock = await own.store.lock();
    const [first = '', late = ''] = [1, 2].map((id) =>
      requestText(own.client.headers, `{"id":${id},"name":"n"}`),
    );
    const connection = (await own.connect()).write(first + late.slice(0, -1));
    await once(server, 'clientError');
    connection.write(late.slice(-1));
    while (!requests[1]?.complete) await sleep(5);
    await unlock();
    expect(await connection.read()).toMatchObject({ status: 200 });
    expect(await connection.read()).toMatchObject(LATE);
    while (!own.app.get(GroupCommit).isIdle) await sleep(5);
    expect(await own.store.plant(2n)).toBeUndefined();
    await own.stop();
  });

  it('closes the connection of a client that reads no response', async () => {
    // More than the kernel holds for a client.
    const sendMuch: RequestHandler = (_request, response) => void response.end('x'.repeat(2 ** 25));
    const own = await Service.start({}, [], (app) => app.use('/much', sendMuch));
    own.app.getHttpServer().timeout = 500;
    const { socket } = await own.connect();
    socket.pause();
    socket.write('GET /much HTTP/1.1\r\nHost: x\r\n\r\n');
    const inFlight = countInFlight();
    while (inFlight.count === 0) await sleep(5);
    while (inFlight.count > 0) await sleep(20);
    socket.destroy();
    await own.stop();
  });

  it('closes the connection of a client that sends on and on behind its last response', async () => {
    const sendMuch: RequestHandler = (_request, response) =>
      void response.set('connection', 'close').end('x'.repeat(2 ** 25));
    const own = await Service.start({}, [], (app) => app.use('/much', sendMuch));
    own.app.getHttpServer().timeout = 0;
    const { socket } = await own.connect();
    socket.pause();
    const ended = Promise.withResolvers<unknown>();
    requestEnd.subscribe(ended.resolve);
    const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(get('/much') + get('/x').repeat(MAX_PIPELINED));
    await ended.promise;
    socket.destroy();
    await own.stop();
  });

  it('cuts off a refused client that never closes its side', async () => {
    const connection = (await hasty.connect(true)).write('no HTTP\r\n\r\n');
    expect((await connection.read()).status).toBe(400);
    // A client notices a closed connection only when it sends.
    const sending = setInterval(() => connection.write('x'), 50);
    await connection.closed();
    clearInterval(sending);
  });
});
