import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createStore, ENGINE } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';

const PROBE = new URL('../operations/loaded-scripts.js', import.meta.url).href;

/** Matches the scripts of each engine: our own, and those of its driver. */
const SCRIPTS = {
  sqlite: /\/(database\/sqlite|node_modules\/better-sqlite3)\//,
  postgres: /\/(database\/postgres|node_modules\/(pg|pg-pool|pg-protocol|pg-copy-streams))\//,
};

it('a service loads the engine that DATABASE_URL names, and not the other one', async () => {
  const store = await createStore();
  const file = join(store.folder, 'scripts');
  const env = { NODE_OPTIONS: `--import ${PROBE}`, LOADED_SCRIPTS: file };
  const service = await ServiceProcess.start({ store, env });
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.exited).toEqual({ code: 0, signal: null });
  const scripts = readFileSync(file, 'utf8').split('\n');
  const other = ENGINE === 'sqlite' ? 'postgres' : 'sqlite';
  expect(scripts.filter((script) => SCRIPTS[ENGINE].test(script))).not.toEqual([]);
  expect(scripts.filter((script) => SCRIPTS[other].test(script))).toEqual([]);
  await store.remove();
});
