/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { requestText } from '../support/raw-connection.js';
import { runMain, ServiceProcess } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

/** Node also prints an error's own properties. */
const ERROR = `Object.assign(new Error('at fault'), { parameters: ['PLANT'] })`;

/** Waits until the service handles uncaught errors. */
const BEGUN = `
  while (process.listenerCount('uncaughtException') === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }`;

it.each([
  ['an uncaught error', `setTimeout(() => { throw ${ERROR}; })`],
  ['an unhandled rejection', `void Promise.reject(${ERROR})`],
])('%s: one line with its stack only, exit 1', async (_name, script) => {
  const path = join(store.folder, 'fail.mjs');
  writeFileSync(path, `void (async () => {${BEGUN}\n${script};\n})();`);
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

/** Starts a service that cannot write an Error with one of these numbers. Returns a connection with three requests. */
async function failToWrite(...numbers: number[]) {
  const path = join(store.folder, 'fail.mjs');
  const script = `const { stringify } = JSON;
    JSON.stringify = (value, ...rest) => {
      if (${JSON.stringify(numbers)}.includes(value?.error)) throw new Error('at fault');
      return stringify(value, ...rest);
    };`;
  writeFileSync(path, script);
  const env = { NODE_OPTIONS: `--import file://${path}` };
  const service = await ServiceProcess.start({ store, env });
  const connection = await service.connect();
  const { headers } = service.client();
  const plant = requestText(headers, '{"id":1,"name":"oak"}');
  connection.write(plant + requestText(headers, '{') + plant);
  return { service, connection };
}

it('a response that cannot be written is an internal error', async () => {
  const { service, connection } = await failToWrite(1000);
  for (const status of [200, 500, 200]) expect((await connection.read()).status).toBe(status);
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
});

it('if that cannot be written either, its connection closes, with the pipelined requests on it', async () => {
  const { service, connection } = await failToWrite(1000, 5000);
  await connection.closed();
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
});
