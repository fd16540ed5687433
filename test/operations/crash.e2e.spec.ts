/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { runMain } from '../support/service-process.js';
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
