/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { describeDatabase } from '../../src/config/database-url.js';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { MAX_QUEUED } from '../../src/plants/group-commit.js';
import { PRINT_ARRIVALS } from '../support/cli.js';
import { valueOf } from '../support/monitor.js';
import { serviceProcess as service, startProcess } from '../support/own.js';
import { requestText } from '../support/raw-connection.js';

// Plants that wait for the lock must not time out.
startProcess({ env: { MANAGEMENT_PORT: '0', DATABASE_TIMEOUT: '60s', ...PRINT_ARRIVALS } });

let next = 1;

/** The bytes of `count` requests, each with its own plant. */
function requests(count: number): string {
  const { headers } = service.client();
  const body = () => `{"id":${next++},"name":"oak"}`;
  return Array.from({ length: count }, () => requestText(headers, body())).join('');
}

it('/readyz lists each check of a ready service', async () => {
  expect(await service.monitor.ready()).toEqual({
    status: 200,
    failed: [],
    details: {
      service: { status: 'up', version: VERSION, store: describeDatabase(service.store.url) },
      lifecycle: { status: 'up', phase: 'serving' },
      store: { status: 'up' },
      queue: { status: 'up', plants: 0, bound: MAX_QUEUED },
    },
  });
});

describe('a service is not ready', () => {
  it('while another process holds the write lock; it stays alive', async () => {
    const unlock = await service.store.lock();
    const { details } = await service.monitor.until(503, 'store');
    expect(details.lifecycle).toMatchObject({ status: 'up' });
    expect(details.store?.message).toEqual(expect.any(String));
    expect(await service.monitor.live()).toBe(200);
    expect(valueOf(await service.monitor.metrics(), 'plant_store_store_up')).toBe(0);
    await unlock();
    await service.monitor.until(200);
    expect(valueOf(await service.monitor.metrics(), 'plant_store_store_up')).toBe(1);
  });

  it('while its queue is full', async () => {
    const unlock = await service.store.lock();
    const first = (await service.connect()).write(requests(1));
    await service.arrived(1);
    // More than the queue holds: the first group, already passed to the store, may have a few more plants.
    const count = MAX_QUEUED / MAX_PIPELINED + 20;
    const connections = await Promise.all(Array.from({ length: count }, () => service.connect()));
    for (const connection of connections) connection.write(requests(MAX_PIPELINED));
    while (!(await service.monitor.ready()).failed.includes('queue'));
    const { details } = await service.monitor.ready();
    expect(details.queue).toMatchObject({ status: 'down', plants: MAX_QUEUED });
    expect(valueOf(await service.monitor.metrics(), 'plant_store_queue_plants')).toBe(MAX_QUEUED);
    await unlock();
    for (const connection of connections) {
      for (let i = 0; i < MAX_PIPELINED; i++) await connection.read();
    }
    const ready = await service.monitor.until(200);
    expect(ready.details.queue).toMatchObject({ plants: 0 });
    for (const connection of [first, ...connections]) connection.close();
  });
});
