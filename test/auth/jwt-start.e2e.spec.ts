/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { runMain, ServiceProcess } from '../support/service-process.js';

/** A module as a data: URL. */
const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

const REGISTER = `import { registerHooks } from 'node:module';
registerHooks({
  resolve(name, context, next) {
    if (name === 'jose') throw new Error('jose is loaded');
    return next(name, context);
  },
});`;

/** Makes a process fail when it loads jose. */
const WITHOUT_JOSE = { NODE_OPTIONS: `--import=${moduleOf(REGISTER)}` };
const PROVIDER = { AUTH_ISSUER: 'http://127.0.0.1:9', AUTH_AUDIENCE: 'https://plants.example' };

it('loads jose only with an identity provider', async () => {
  const service = await ServiceProcess.start({ env: WITHOUT_JOSE });
  expect((await service.client().post('{"id":1,"name":"oak"}')).status).toBe(200);
  await service.remove();
  const store = await createStore();
  const { code, stderr } = await runMain(store, { ...WITHOUT_JOSE, ...PROVIDER });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'error: jose is loaded\n' });
  await store.remove();
});

it('starts and stops while the identity provider is unavailable', async () => {
  const service = await ServiceProcess.start({ env: PROVIDER });
  expect((await service.client().post('{"id":1,"name":"oak"}')).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  await service.remove();
});
