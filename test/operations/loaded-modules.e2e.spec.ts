import { expect, it } from '@jest/globals';
import { forbidModules } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { makeStore, store } from '../support/own-store.js';
import { runMain, ServiceProcess } from '../support/service-process.js';

makeStore();

/** Matches the modules of each engine: our own, and those of its driver. */
const ENGINES = {
  sqlite: 'database/sqlite/|node_modules/better-sqlite3/',
  postgres: 'database/postgres/|node_modules/(pg|pg-pool|pg-protocol|pg-copy-streams)/',
};
/** Of traces, and of JSON Web Tokens. prom-client loads OpenTelemetry's API, which does nothing by itself. */
const OPTIONAL = 'node_modules/(@opentelemetry/(?!api/)|jose/)';

it('a service loads the engine that DATABASE_URL names, not the other one, nor what no variable asks for', async () => {
  const other = ENGINES[ENGINE === 'sqlite' ? 'postgres' : 'sqlite'];
  const service = await ServiceProcess.start({ store, env: forbidModules(`${other}|${OPTIONAL}`) });
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  await service.kill();
  expect((await runMain(store, forbidModules(ENGINES[ENGINE]))).stderr).toContain('loads file:');
});
