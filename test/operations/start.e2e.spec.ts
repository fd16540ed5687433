import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { forbidModules } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { makeStore, store } from '../support/own.js';
import { ENDED, runMain, ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

const TOKEN = /plant_[0-9A-Za-z]{38}/;

makeStore();

it('the first start creates the store and prints the addresses, a token and a working curl line', async () => {
  const service = await ServiceProcess.start({ store });
  expect(service.printed).toContain(
    `plant-store ${VERSION}, Node.js ${process.versions.node}, store: `,
  );
  // MANAGEMENT_PORT is off.
  expect(service.printed).not.toContain('Management');
  const [first = ''] = service.printed.split('\n');
  expect(first.endsWith(basename(store.url.replace(/\?.*/, '')))).toBe(true);
  const base = `http://127.0.0.1:${service.port}`;
  expect(service.printed).toContain(
    `Documentation: ${base}/docs\nPlant store: ${base}/plants (POST)\n`,
  );
  expect(service.token).toMatch(new RegExp(`^${TOKEN.source}$`));
  const docs = await service.client().send({ method: 'GET', path: '/docs', headers: {} });
  expect(docs.status).toBe(200);

  const curl = /^ {2}(curl [^]*?[^\\])\n/m.exec(service.printed)?.[1] ?? '';
  const { stdout } = await promisify(execFile)('sh', ['-c', `${curl} -s`]);
  expect(JSON.parse(stdout)).toEqual({ name: 'Common alder', tag: 'Alnus glutinosa' });
  expect(await store.plants()).toEqual([{ id: 3n, name: 'Common alder', tag: 'Alnus glutinosa' }]);
  await service.kill();

  expect(service.output).not.toContain('no active token');

  // A second start prints no token.
  const { token } = service;
  writeFileSync(join(store.folder, '.env'), 'DOCS=off\n');
  const second = await ServiceProcess.start({ store, token });
  await second.client().create({ id: 4n, name: 'oak' });
  expect(await second.stop()).toEqual(ENDED);
  expect(second.output).not.toMatch(TOKEN);
  const another = 'for another one run bin/plant-store token create NAME';
  expect(second.output).toContain(`\nActive tokens: 1; ${another}\n`);
  expect(second.printed).not.toMatch(/\/docs|new store/);
  expect(await store.rows('SELECT id FROM tokens')).toHaveLength(1);
  expect(await store.count()).toBe(2);
});

it('a start tells of the migrations that it has run', async () => {
  const made = /^made or upgraded: CreatePlantsAndTokens\d+, \w+/;
  expect((await startHere(store.url)).stdout).toMatch(made);
  expect(await startHere(store.url)).toEqual({ code: 0, stdout: '', stderr: '' });
});

/** Matches the modules of each engine: our own, and those of its driver. */
const ENGINES = {
  sqlite: 'database/sqlite/|node_modules/better-sqlite3/',
  postgres: 'database/postgres/|node_modules/(pg|pg-pool|pg-protocol|pg-copy-streams)/',
};
/** The variables of JSON Web Tokens. */
const OPTIONAL = 'node_modules/jose/';

it('a service loads the engine that DATABASE_URL names, not the other one, nor what no variable asks for', async () => {
  const other = ENGINES[ENGINE === 'sqlite' ? 'postgres' : 'sqlite'];
  const service = await ServiceProcess.start({ store, env: forbidModules(`${other}|${OPTIONAL}`) });
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
  await service.kill();
  expect((await runMain(store, forbidModules(ENGINES[ENGINE]))).stderr).toContain('loads file:');
});
