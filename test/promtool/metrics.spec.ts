/** @engine sqlite */
import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { ServiceProcess } from '../support/service-process.js';

// Not part of `npm test`, which runs on a machine without promtool: `npm run lint:prometheus`.

it("promtool has no complaint about the service's own metrics", async () => {
  const service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0' } });
  await service.client().create({ id: 1n, name: 'oak' });
  const { text } = await service.monitor.send('GET', '/metrics');
  await service.remove();
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    // prom-client has gauges that are named like counters.
    input: text.replace(/^(# \w+ )?nodejs_active_.*\n/gm, ''),
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
});
