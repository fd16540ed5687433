/** @engine sqlite */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { getConnection } from '../../src/http/limits/connection.js';
import type { PlantStoreAdapter } from '../../src/http/plant-store.adapter.js';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';

it('a client that leaves: its requests are over at once, and no memory of it counts', async () => {
  const service = await Service.start();
  const unlock = await service.store.lock();
  const { httpAdapter } = service.app.get<HttpAdapterHost<PlantStoreAdapter>>(HttpAdapterHost);
  const accepted = once(service.app.getHttpServer(), 'connection');
  const client = await service.connect();
  const [socket] = (await accepted) as [Socket];
  const connection = getConnection({ socket } as IncomingMessage);
  client.write(requestText(service.client.headers, '{"id":1,"name":"n"}').repeat(3));
  while (httpAdapter.inFlight < 3) await sleep(5);
  expect(connection.memory.reserved).toBeGreaterThan(0);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  client.socket.resetAndDestroy();
  await closed;
  expect([httpAdapter.inFlight, connection.memory.reserved]).toEqual([0, 0]);
  await unlock();
  await service.stop();
});
