import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { describeDatabase } from '../../src/config/database-url.js';
import { runHere } from '../support/cli.js';
import { createStore } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

const run = (line: string, port = '1') =>
  runHere(line.split(' '), {
    cwd: store.folder,
    env: { DATABASE_URL: store.url, MANAGEMENT_PORT: port },
  });

it('status of a service that is ready: 0, and what an operator asks first', async () => {
  const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  const port = /Management: \S+:(\d+)/.exec(service.printed)?.[1] ?? '';
  await service.client().create({ id: 1n, name: 'oak' });
  await run('token create nursery --expires 90d');
  const { code, stdout, stderr } = await run('status', port);
  await service.kill();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const rows = Object.fromEntries(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/) as [string, string]),
  );
  expect(rows).toEqual({
    version: `${VERSION}, Node.js ${process.versions.node}`,
    store: describeDatabase(store.url),
    schema: 'up to date',
    plants: '1',
    tokens: expect.stringMatching(
      /^2 active; nursery \(\d+\) expires next, [-\d]{10} [:\d]{5} UTC$/,
    ),
    service: `ready (http://127.0.0.1:${port}/readyz)`,
  });
});

it('status of a store that is there without a service: 1', async () => {
  await run('migrate');
  const { code, stdout } = await run('status --json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    schema: 'up to date',
    plants: '0',
    tokens: '0 active, none expires',
    service: expect.stringMatching(/^no response: .*127\.0\.0\.1:1/),
    problems: ['service'],
  });
});

it('status without a store: 1, and what to do', async () => {
  const { code, stdout } = await run('status', 'off');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^schema +.*`bin\/plant-store migrate`/m);
  expect(stdout).toMatch(/^service +not asked, as MANAGEMENT_PORT is off$/m);
});
