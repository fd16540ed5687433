/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { makeStore, store } from '../support/own-store.js';
import { requestText } from '../support/raw-connection.js';
import { ENDED, runMain, ServiceProcess } from '../support/service-process.js';

makeStore();

/** Node also prints an error's own properties. */
const ERROR = `Object.assign(new Error('at fault'), { parameters: ['PLANT'] })`;

it('an unhandled rejection: one line with its stack only, exit 1', async () => {
  const path = join(store.folder, 'fail.mjs');
  // Waits until the service handles uncaught errors.
  const script = `const timer = setInterval(() => {
    if (process.listenerCount('uncaughtException') === 0) return;
    clearInterval(timer);
    void Promise.reject(${ERROR});
  }, 10);`;
  writeFileSync(path, script);
  const env = { NODE_ENV: 'production', NODE_OPTIONS: `--import file://${path}` };
  const { code, stdout, stderr } = await runMain(store, env);
  const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as object;
  expect({ code, last, stderr }).toEqual({
    code: 1,
    last: expect.objectContaining({
      level: 'fatal',
      msg: 'uncaught exception',
      stack: expect.stringContaining('Error: at fault\n    at '),
    }),
    stderr: '',
  });
  expect(stdout).not.toContain('PLANT');
});

it('a response that cannot be written is an internal error, or else closes its connection', async () => {
  const path = join(store.folder, 'fail.mjs');
  // Neither an oak nor an Error 1000 can be written, and no Error 5000 after two.
  const script = `const { stringify } = JSON;
    let written = 0;
    JSON.stringify = (value, ...rest) => {
      const isFault = value?.error === 5000 ? ++written > 2 : value?.error === 1000 || value?.name === 'oak';
      if (isFault) throw new Error('at fault');
      return stringify(value, ...rest);
    };`;
  writeFileSync(path, script);
  const env = { NODE_OPTIONS: `--import file://${path}` };
  const service = await ServiceProcess.start({ store, env });
  const { headers } = service.client();
  const bodies = ['{"id":1,"name":"elm"}', '{', '{"id":2,"name":"oak"}', '{"id":1,"name":"elm"}'];
  const requests = bodies.map((body) => requestText(headers, body)).join('');
  const connection = (await service.connect()).write(requests);
  for (const status of [200, 500, 500, 200]) expect((await connection.read()).status).toBe(status);
  connection.close();
  await (await service.connect()).write(requests).closed();
  expect(await service.stop()).toEqual(ENDED);
});
