/** @engine sqlite */
import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { ServiceProcess } from '../support/service-process.js';

/** Runs promtool. Returns its exit code and all that it prints. */
function promtool(args: string, input = '') {
  const { status, stdout, stderr } = spawnSync('promtool', args.split(' '), {
    input,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

it("promtool has no complaint about the service's own metrics", async () => {
  const service = await ServiceProcess.start({ env: { MANAGEMENT_PORT: '0' } });
  await service.client().create({ id: 1n, name: 'oak' });
  const { text } = await service.monitor.send('GET', '/metrics');
  await service.remove();
  // prom-client has gauges that are named like counters.
  const own = text.replace(/^(# \w+ )?nodejs_active_.*\n/gm, '');
  expect(promtool('check metrics', own)).toEqual({ status: 0, output: '' });
});

it.each([
  ['the configuration', 'check config deploy/prometheus/prometheus.yaml'],
  ['what the alerts say', 'test rules deploy/prometheus/alerts.test.yaml'],
])('promtool accepts %s', (_name, args) => {
  expect(promtool(args)).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
});
