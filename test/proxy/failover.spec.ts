/** @engine sqlite */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from '../support/client.js';
import { Nginx, upstreamLine } from '../support/nginx.js';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';

/** Two processes with stores of their own, as SQLite has one process, and the same token. */
let services: [ServiceProcess, ServiceProcess];
let nginx: Nginx;
let client: Client;
beforeEach(async () => {
  const first = await ServiceProcess.start();
  const { token, store } = first;
  // The log is a part of the store: it is in the file after a stop.
  first.signal('SIGTERM');
  await first.exited;
  const copy = new SqliteStore();
  mkdirSync(join(copy.folder, 'data'), { mode: 0o700 });
  copyFileSync((store as SqliteStore).path, copy.path);
  const start = (of: typeof store) =>
    ServiceProcess.start({ store: of, token, env: { DATABASE_TIMEOUT: '1s' } });
  services = await Promise.all([start(store), start(copy)]);
  nginx = await Nginx.start({
    upstream: services.map(({ port }) => upstreamLine(port)).join(''),
  });
  client = new Client(nginx.port, token, 4);
});
afterEach(async () => {
  client.close();
  await nginx.stop();
  for (const service of services) await service.remove();
});

let id = 0n;
const create = () => client.create({ id: (id += 1n), name: 'oak' });

/** Creates plants one after the other until the access log has a text in a line of theirs, and five times at least. */
async function createUntil(text: RegExp): Promise<void> {
  for (let count = 0; count < 5 || !text.test(nginx.accessLog); count++) {
    expect(await create()).toMatchObject({ status: 200, body: { name: 'oak' } });
  }
}

describe('a create that one process cannot do is done by the other', () => {
  it('after a 503', async () => {
    const unlock = await services[0].store.lock();
    await createUntil(/, 127\S* 503, 200$/m);
    await unlock();
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)('after %s', async (signal) => {
    await createUntil(/ 200$/m);
    // Some are in flight.
    const creating = Array.from({ length: 20 }, create);
    services[0].signal(signal);
    for (const { status } of await Promise.all(creating)) expect(status).toBe(200);
    await services[0].exited;
    await createUntil(/, 127\S* (502|503), 200$/m);
  });
});

describe('503 with 5001 and Retry-After', () => {
  const unavailable = {
    status: 503,
    body: { error: 5001, message: 'the service is unavailable' },
    headers: { 'retry-after': '1', 'content-type': 'application/json', server: 'nginx' },
  };

  it('if no process is there', async () => {
    for (const service of services) await service.kill();
    expect(await create()).toMatchObject(unavailable);
    expect((await client.send({ method: 'HEAD', path: '/docs' })).status).toBe(503);
  });

  it('if two processes have each waited for an unavailable store: no third is asked', async () => {
    // With its default DATABASE_TIMEOUT.
    const service = await ServiceProcess.start();
    const three = await Nginx.start({ upstream: upstreamLine(service.port).repeat(3) });
    using patient = new Client(three.port, service.token);
    const unlock = await service.store.lock();
    const { status, body } = await patient.create({ id: 1n, name: 'oak' });
    expect({ status, body }).toMatchObject({ status: 503, body: { error: 5001 } });
    await three.logged(/ \S+, \S+ 503, 503$/m);
    await unlock();
    await three.stop();
    await service.remove();
  });

  it('if all processes respond with 503, which is passed on', async () => {
    const unlocks = await Promise.all(services.map(({ store }) => store.lock()));
    expect(await create()).toMatchObject({ status: 503, body: { error: 5001 } });
    await nginx.logged(/ 503, 503$/m);
    for (const unlock of unlocks) await unlock();
    expect((await create()).status).toBe(200);
  });
});
