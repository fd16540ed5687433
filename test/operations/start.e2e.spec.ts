import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { forbidModules } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { cli, makeStore, store } from '../support/own.js';
import { ENDED, runMain, ServiceProcess } from '../support/service-process.js';

const TOKEN = /plant_[0-9A-Za-z]{38}/;

const NO_TOKEN = 'the store has no active token: run bin/plant-store token create NAME';

makeStore();

describe('the first start', () => {
  it('creates the store and prints the addresses, a token and a working curl line', async () => {
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
    expect(await store.plants()).toEqual([
      { id: 3n, name: 'Common alder', tag: 'Alnus glutinosa' },
    ]);
    await service.kill();

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

  it('creates no token with NODE_ENV=production', async () => {
    const env = { NODE_ENV: 'production', DOCS: 'off' };
    const service = await ServiceProcess.start({ store, token: 'none', env });
    // A response shows that the start is complete.
    expect((await service.client().post('')).status).toBe(401);
    while (!service.output.includes(NO_TOKEN)) await sleep(10);
    await service.kill();
    expect(service.printed).not.toMatch(TOKEN);
    expect(service.printed).not.toContain('/docs');
    expect(await store.rows('SELECT * FROM tokens')).toEqual([]);
  });
});

it('a start tells of the migrations that it has run', async () => {
  const first = await ServiceProcess.start({ store });
  await first.kill();
  const made = /\[Store\] made or upgraded: CreatePlantsAndTokens\d+, \w+/;
  expect(first.output).toMatch(made);
  const next = await ServiceProcess.start({ store, token: first.token });
  await next.kill();
  expect(next.output).not.toMatch(made);
});

it('a start prints URLs that respond', async () => {
  const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  const urls = service.printed.match(/http:[^\s,]+/g) ?? [];
  const statuses = urls.map(async (url) => [
    new URL(url).pathname,
    (await fetch(url, { method: url.endsWith('/plants') ? 'POST' : 'GET' })).status,
  ]);
  expect(Object.fromEntries(await Promise.all(statuses))).toEqual({
    '/readyz': 200,
    '/metrics': 200,
    '/docs': 200,
    '/plants': 401,
  });
  await service.kill();
});

it.each([
  [767, true],
  [768, false],
])('a start with `ulimit -n %i` warns that it is too low: %s', async (limit, isLow) => {
  const under = ['sh', '-c', `ulimit -n ${limit} && exec "$@"`, 'sh'];
  const service = await ServiceProcess.start({ store, under });
  await service.kill();
  const warning = `ulimit -n is ${limit}: at most so many files and connections; raise it to 768`;
  expect(service.output.includes(warning)).toBe(isLow);
});

it('a start warns while every token is revoked or expired', async () => {
  const service = await ServiceProcess.start({ store });
  await service.kill();
  expect(service.output).not.toContain(NO_TOKEN);
  await cli('token revoke --all');
  await cli('token create brief --expires 1s');
  const isExpired = async () => (await cli('token list')).stdout.includes(' expired ');
  while (!(await isExpired())) await sleep(100);
  const next = await ServiceProcess.start({ store, token: service.token });
  while (!next.output.includes(NO_TOKEN)) await sleep(10);
  await next.kill();
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
