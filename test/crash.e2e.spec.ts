import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createStore } from './support/engine.js';
import { runMain } from './support/service-process.js';
import type { TemporaryStore } from './support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

/** Node prints the members of an error too. */
const ERROR = `Object.assign(new Error('at fault'), { parameters: ['PLANT'] })`;

it.each([
  ['an error that nothing caught', `setTimeout(() => { throw ${ERROR}; }, 1500)`],
  ['a promise that nobody waits for', `setTimeout(() => Promise.reject(${ERROR}), 1500)`],
])('%s: a line with its stack and no more of it, exit 1', async (_name, script) => {
  const path = join(store.folder, 'fail.mjs');
  writeFileSync(path, script);
  const env = { NODE_ENV: 'production', NODE_OPTIONS: `--import file://${path}` };
  const { code, stdout, stderr } = await runMain(store, env);
  const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as object;
  expect({ code, last, stderr }).toEqual({
    code: 1,
    last: expect.objectContaining({
      level: 'fatal',
      msg: 'nothing caught an error',
      stack: expect.stringContaining('Error: at fault\n    at '),
    }),
    stderr: '',
  });
  expect(stdout).not.toContain('PLANT');
});
