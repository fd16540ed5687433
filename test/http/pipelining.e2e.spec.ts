/** @engine sqlite */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { MAX_REQUESTS, MAX_WITHOUT_TOKEN } from '../../src/http/limits/connection.js';
import type { PlantStoreAdapter } from '../../src/http/plant-store.adapter.js';
import type { Client } from '../support/client.js';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);
const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

let service: ServiceProcess;
let client: Client;
beforeAll(async () => {
  service = await ServiceProcess.start();
  client = service.client(1);
});
afterAll(() => service.remove());

describe('of a long pipeline 16 requests get responses in order, and the connection ends', () => {
  it.each([
    ['of plants', (id: number) => `{"id":${id},"name":"n${id}"}`, 200],
    ['of invalid plants', () => '{"id":"x"}', 400],
    ['of what is no JSON', () => '{', 400],
  ])('%s', async (_name, body, status) => {
    const connection = await service.connect();
    const all = range(3_000).map((id) => requestText(client.headers, body(id)));
    connection.write(all.join(''));
    let served = 0;
    try {
      for (; ; served++) {
        const response = await connection.read();
        expect(response.status).toBe(status);
        if (status === 200) expect(response.body).toEqual({ name: `n${served}` });
      }
    } catch (error) {
      expect(error).toMatchObject({ message: 'the connection ended after: ' });
    }
    // The first one may get its response before the next is read.
    expect([MAX_REQUESTS, MAX_REQUESTS + 1]).toContain(served);
  });
});

it('a pipeline of refused plants is served a request at a time, others in between', async () => {
  const own = await Service.start();
  const [many, one] = [await own.connect(), await own.connect()];
  many.write(requestText(own.client.headers, '{').repeat(MAX_REQUESTS));
  one.write(requestText(own.client.headers, '{'));
  let served = 0;
  const pipeline = (async () => {
    for (; served < MAX_REQUESTS; served++) await many.read();
  })();
  expect(await one.read()).toMatchObject({ status: 400 });
  expect(served).toBeLessThan(MAX_REQUESTS / 2);
  await pipeline;
  many.close();
  one.close();
  await own.stop();
});

it('long plants of a pipeline are stored, though their pieces arrive before they are read', async () => {
  const own = await Service.start();
  const connection = await own.connect();
  const name = 'n'.repeat(60_000);
  const ids = range(MAX_REQUESTS);
  const text = (id: number) => requestText(own.client.headers, `{"id":${id},"name":"${name}"}`);
  connection.write(ids.map(text).join(''));
  const statuses: number[] = [];
  while (statuses.length < ids.length) statuses.push((await connection.read()).status);
  expect(statuses).toEqual(ids.map(() => 200));
  connection.close();
  await own.stop();
});

it('a connection without an active token ends behind its 16th request', async () => {
  const connection = await service.connect();
  const request = { method: 'GET', path: '/openapi.json' };
  for (const expected of [...Array<string>(15).fill('keep-alive'), 'close']) {
    const { headers } = await connection.write(GET(request.path)).read(request);
    expect(headers.connection).toBe(expected);
  }
  await connection.closed();
});

it('a client reads its 16th refusal after its body, an active token begins the count again', async () => {
  const connection = await service.connect();
  const send = (headers = {}) => connection.write(requestText(headers, '{}')).read();
  const refuse = async (times: number) => {
    for (let i = 0; i < times; i++) {
      const { status, headers } = await send();
      expect([status, headers.connection]).toEqual([401, 'keep-alive']);
    }
  };
  await refuse(MAX_WITHOUT_TOKEN - 1);
  for (let i = 0; i < MAX_WITHOUT_TOKEN + 1; i++) {
    expect(await send(client.headers)).toMatchObject({ status: 400 });
  }
  await refuse(MAX_WITHOUT_TOKEN - 1);
  // More than the kernel takes for a service that does not read: a reset would lose the response.
  const body = 'x'.repeat(30_000_000);
  const { status, headers } = await connection.write(requestText({}, body)).read();
  expect([status, headers.connection]).toEqual([401, 'close']);
  expect(connection.socket.writableLength).toBe(0);
  await connection.closed();
});

it('one connection has at most 16 requests in progress, and none remain after it is cut off', async () => {
  const locked = await Service.start();
  const adapter = locked.app.get<HttpAdapterHost<PlantStoreAdapter>>(HttpAdapterHost).httpAdapter;
  const unlock = await locked.store.lock();
  const connection = await locked.connect();
  const text = (id: number) => requestText(locked.client.headers, `{"id":${id},"name":"n"}`);
  connection.write(
    range(MAX_REQUESTS + 1)
      .map(text)
      .join(''),
  );
  while (adapter.inFlight < MAX_REQUESTS) await sleep(10);
  await sleep(200);
  expect(adapter.inFlight).toBe(MAX_REQUESTS);
  connection.close();
  while (adapter.inFlight > 0) await sleep(10);
  await unlock();
  await locked.stop();
});

it('a client that ends is read no further, and a connection 64 KiB in a turn of the event loop', async () => {
  const own = await Service.start();
  const unlock = await own.store.lock();
  const accepted = once(own.app.getHttpServer(), 'connection');
  const connection = await own.connect();
  const [socket] = (await accepted) as [Socket];
  const text = requestText(own.client.headers, '{"id":1,"name":"n"}');
  connection.write(text.repeat(20_000));
  await sleep(500);
  // What one more read brings, before the pause has its effect.
  expect(socket.bytesRead).toBeLessThanOrEqual(2 * 64 * 1024);
  await unlock();
  for (let i = 0; i < MAX_REQUESTS; i++) {
    expect((await connection.read()).status).toBe(200);
  }
  await connection.closed();
  expect(socket.bytesRead).toBeLessThanOrEqual(2 * 64 * 1024);
  await own.stop();
});
