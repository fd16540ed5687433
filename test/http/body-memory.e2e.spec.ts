/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { NODE_OPTIONS } from '../../drill/fuzz/crowd.js';
import { serviceProcess as service, startProcess } from '../support/own.js';
import { tally } from '../support/received.js';

// The plants wait for a lock of the test, however long a busy machine takes.
startProcess({ env: { DATABASE_TIMEOUT: '60s', MANAGEMENT_PORT: '0', NODE_OPTIONS } });

const range = (length: number) => Array.from({ length }, (_, i) => i);

/** 64 KB of JSON; what is parsed of it takes 5.5 MB. */
const DEEP = `[${range(325)
  .map(() => '['.repeat(98) + ']'.repeat(98))
  .join()}]`;
/** What is parsed of 60 takes more than the heap, which has 256 MB. */
const [ALL, ENOUGH] = [80, 60];

it('plants that wait for their commit do not keep what was parsed of their bodies', async () => {
  const client = service.client(ALL);
  const unlock = await service.store.lock();
  const responses = range(ALL).map((id) => client.post(`{"id":${id},"name":"oak","x":${DEEP}}`));
  // Some are in groups whose commit has begun.
  let queued = 0;
  while (queued < ENOUGH) {
    await sleep(20);
    queued = (await service.monitor.metrics()).get('plant_store_queue_plants') ?? 0;
  }
  await unlock();
  expect(tally(await Promise.all(responses))).toEqual({ '200 {"name":"oak"}': ALL });
});
