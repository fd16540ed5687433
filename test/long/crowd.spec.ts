/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { residentMb } from '../../bench/machine.js';
import { Crowd, crowdKinds, MAX_RESIDENT_MB, NODE_OPTIONS } from '../../drill/fuzz/crowd.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
let crowd: Crowd;
afterEach(async () => {
  crowd.stop();
  await service.remove();
});

it.each([
  [240, 'of all kinds over TCP', false, /./],
  [240, 'of all kinds over TLS', true, /./],
  [200, 'that send tiny chunks', false, /tiny/],
])(
  `%d hostile connections %s: the service keeps serving, in ${MAX_RESIDENT_MB} MiB`,
  async (connections, _name, isTls, names) => {
    service = await ServiceProcess.start({ isTls, env: { LOG_REQUESTS: 'errors', NODE_OPTIONS } });
    const kinds = crowdKinds(isTls).filter(({ name }) => names.test(name));
    crowd = new Crowd({ port: service.port, isTls, kinds, connections });
    while (crowd.opened < connections) await sleep(20);
    for (let id = 0n; id < 5n; id++) {
      const honest = service.client(1);
      expect((await honest.create({ id, name: 'oak' })).status).toBe(200);
      honest.close();
    }
    expect(residentMb(service.pid, 'VmHWM')).toBeLessThan(MAX_RESIDENT_MB);
  },
);
