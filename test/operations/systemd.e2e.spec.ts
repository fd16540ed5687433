/** @engine sqlite */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { makeStore, store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
makeStore(() => service.kill());

const NOTIFY_SOCKET = '/run/notify';

it('notifies systemd when it serves, without secrets', async () => {
  const noted = join(store.folder, 'noted');
  // A substitute for systemd-notify, which not every machine has: records its arguments.
  const script = `#!/bin/sh\necho "$NOTIFY_SOCKET $* DATABASE_URL=$DATABASE_URL" >>${noted}\n`;
  writeFileSync(join(store.folder, 'systemd-notify'), script, { mode: 0o755 });
  const env = { NOTIFY_SOCKET, PATH: `${store.folder}:${process.env.PATH}` };
  service = await ServiceProcess.start({ store, env });
  // Its line may be in the making.
  const read = () => (existsSync(noted) ? readFileSync(noted, 'utf8') : '');
  while (!read().endsWith('\n')) await sleep(10);
  expect(read()).toBe('/run/notify --ready DATABASE_URL=\n');
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
});

it('serves without systemd-notify, and logs that it is missing', async () => {
  service = await ServiceProcess.start({ store, env: { NOTIFY_SOCKET, PATH: store.folder } });
  while (!service.output.includes('systemd was not told READY=1')) await sleep(10);
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
});
