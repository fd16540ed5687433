/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { makeStore, store } from '../support/own.js';
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

it('a response that cannot be written is an internal error; the connection goes on', async () => {
  const path = join(store.folder, 'fail.mjs');
  // Neither an oak nor an Error 1000.
  const script = `const { stringify } = JSON;
    JSON.stringify = (value, ...rest) => {
      if (value?.error === 1000 || value?.name === 'oak') throw new Error('at fault');
      return stringify(value, ...rest);
    };`;
  writeFileSync(path, script);
  const env = { NODE_OPTIONS: `--import file://${path}` };
  const service = await ServiceProcess.start({ store, env });
  const { headers } = service.client();
  const [elm, malformed, oak] = ['{"id":1,"name":"elm"}', '{', '{"id":2,"name":"oak"}'].map(
    (body) => requestText(headers, body),
  );
  const connection = (await service.connect()).write(`${elm}${malformed}`);
  for (const status of [200, 500]) expect((await connection.read()).status).toBe(status);
  connection.write(`${oak}${elm}`);
  for (const status of [500, 200]) expect((await connection.read()).status).toBe(status);
  connection.close();
  expect(await service.stop()).toEqual(ENDED);
});
