/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';

let service: Service | undefined;
afterEach(() => service?.stop());

/** A fault that no later try heals. */
const RENAME = 'ALTER TABLE plants RENAME COLUMN name TO label';
const PLANT = '{"id":1,"name":"oak"}';

async function start(env: Readonly<Record<string, string>> = {}): Promise<Service> {
  return (service = await Service.start({ NODE_ENV: 'production', ...env }));
}

describe('a crowd', () => {
  const CROWD = 200;
  const range = Array.from({ length: CROWD }, (_, i) => i);
  /** Has a crowd refused, ten requests on each connection. */
  async function refuseCrowd(service: Pick<Service, 'connect'>): Promise<void> {
    for (let sent = 0; sent < CROWD; sent += 10) {
      const connection = await service.connect();
      connection.write(requestText({}, PLANT).repeat(10));
      for (let i = 0; i < 10; i++) expect((await connection.read()).status).toBe(401);
      connection.close();
    }
  }
  /** The number of requests in the summary lines. */
  const summed = (found: readonly Record<string, unknown>[]) =>
    found.reduce((sum, { requests = 0 }) => sum + Number(requests), 0);

  it('of unauthenticated clients does not fill the log: a few have a line, the others are summed up', async () => {
    const service = await start({ LOG_REQUESTS: 'errors' });
    await refuseCrowd(service);
    const own = () => service.log.lines('Request').filter(({ status }) => status === 401).length;
    const others = () => summed(service.log.lines('Request').filter(({ error }) => error === 2000));
    while (own() + others() < CROWD) await sleep(20);
    expect(own() + others()).toBe(CROWD);
    expect(others()).toBeGreaterThan(own());
  });

  it.each([
    ['plants, where all are asked for', 200, () => Promise.resolve()],
    ['faults of the service', 500, ({ store }: Service) => store.execute(RENAME)],
  ])('of %s has a line each', async (_name, status, prepare) => {
    const service = await start();
    await prepare(service);
    await Promise.all(range.map((id) => service.client.post(`{"id":${id},"name":"oak"}`)));
    const lines = () => service.log.lines('Request');
    while (lines().length < CROWD) await sleep(20);
    expect(lines().filter((line) => line.status === status)).toHaveLength(CROWD);
  });

  it('that comes just before the stop is summed up too', async () => {
    const ending = await ServiceProcess.start({ env: { SHUTDOWN_DELAY: '0s' } });
    await refuseCrowd(ending);
    ending.signal('SIGTERM');
    await ending.exited;
    const sums = [...ending.output.matchAll(/"error":2000,"requests":(\d+)/g)];
    const own = ending.output.split('POST /plants 401').length - 1;
    expect(own + summed(sums.map(([, requests]) => ({ requests })))).toBe(CROWD);
    await ending.remove();
  });
});
