/** @engine sqlite */
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { ServiceProcess } from '../support/service-process.js';
import { SqliteStore } from '../support/sqlite-store.js';

let service: ServiceProcess;
afterEach(() => service.remove());

/** A substitute for systemd-notify, which not every machine has: records its arguments. */
const SYSTEMD_NOTIFY = `#!/bin/sh
echo "$NOTIFY_SOCKET $* DATABASE_URL=$DATABASE_URL" >>"$(dirname "$0")/noted"
`;

/** The environment of a service under systemd, and its notifications so far. */
function underSystemd(folder: string) {
  const program = join(folder, 'systemd-notify');
  writeFileSync(program, SYSTEMD_NOTIFY);
  chmodSync(program, 0o755);
  const noted = join(folder, 'noted');
  return {
    env: { NOTIFY_SOCKET: '/run/notify', PATH: `${folder}${delimiter}${process.env.PATH}` },
    /** The notifications, once there are `count`. */
    told: async (count: number) => {
      for (;;) {
        // Its last line may be in the making.
        const lines = existsSync(noted) ? readFileSync(noted, 'utf8').split('\n').slice(0, -1) : [];
        if (lines.length >= count) return lines;
        await sleep(10);
      }
    },
  };
}

it('notifies systemd when it serves and when it stops, without secrets', async () => {
  const store = new SqliteStore();
  const { env, told } = underSystemd(store.folder);
  service = await ServiceProcess.start({ store, env: { ...env, SHUTDOWN_DELAY: '60s' } });
  expect(await told(1)).toEqual(['/run/notify READY=1 DATABASE_URL=']);
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  service.signal('SIGTERM');
  expect((await told(2)).at(1)).toBe('/run/notify STOPPING=1 DATABASE_URL=');
});

it('serves without systemd-notify, and logs that it is missing', async () => {
  const store = new SqliteStore();
  const env = { NOTIFY_SOCKET: '/run/notify', PATH: store.folder };
  service = await ServiceProcess.start({ store, env });
  while (!service.output.includes('systemd was not told READY=1')) await sleep(10);
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
});
