import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { serviceProcess as service, startProcess } from '../support/own.js';

const STRANGERS = 200;
/** Milliseconds; the service caches a valid token for 4 seconds. */
const LONG = 5_000;

startProcess({ env: { LOG_REQUESTS: 'errors' } });

it('serves a client with a token beside 200 connections with forged tokens', async () => {
  const holder = service.client(1);
  const forger = service.client(STRANGERS);
  let running = true;
  const forge = async (): Promise<void> => {
    while (running) {
      const headers = { ...forger.headers, authorization: `Bearer ${createSecret()}` };
      const { status } = await forger.post('{}', headers);
      // 503: too many token lookups wait.
      if (status !== 401 && status !== 503) throw new Error(`a forged token was told ${status}`);
    }
  };
  expect((await holder.create({ id: -1n, name: 'oak' })).status).toBe(200);
  const forging = Promise.all(Array.from({ length: STRANGERS }, forge));
  const statuses: number[] = [];
  for (const end = Date.now() + LONG; Date.now() < end;) {
    const { status } = await holder.create({ id: BigInt(statuses.length), name: 'oak' });
    statuses.push(status);
    await sleep(20);
  }
  running = false;
  await forging;
  const stored = statuses.filter((status) => status === 200);
  expect(stored.length).toBeGreaterThanOrEqual(0.95 * statuses.length);
  expect(await service.store.count()).toBe(stored.length + 1);
}, 60_000);
