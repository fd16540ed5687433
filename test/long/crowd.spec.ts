/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { residentMb } from '../../bench/machine.js';
import { Crowd, crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS } from '../../drill/fuzz/crowd.js';
import { ServiceProcess } from '../support/service-process.js';

const CONNECTIONS = 1_000;

let service: ServiceProcess;
let crowd: Crowd;
afterEach(async () => {
  crowd.stop();
  await service.remove();
});

it.each([
  ['TCP', false],
  ['TLS', true],
])(
  `${CONNECTIONS} hostile connections over %s: the service keeps serving, in ${MAX_RESIDENT_MB} MiB`,
  async (_name, isTls) => {
    service = await ServiceProcess.start({ isTls, env: { LOG_REQUESTS: 'errors', NODE_OPTIONS } });
    const kinds = crowdKinds(isTls);
    crowd = new Crowd({ port: service.port, isTls, kinds, connections: CONNECTIONS });
    while (crowd.opened < CONNECTIONS) await sleep(20);
    for (let id = 0n; id < 5n; id++) {
      const honest = service.client(1);
      expect((await honest.create({ id, name: 'oak' })).status).toBe(200);
      honest.close();
    }
    expect(residentMb(service.pid, 'VmHWM')).toBeLessThan(MAX_RESIDENT_MB);
  },
);
