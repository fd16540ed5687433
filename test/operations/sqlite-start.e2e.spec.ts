/** @engine sqlite */
import { once } from 'node:events';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { untilEnd } from '../support/cli.js';
import { listen } from '../support/local-server.js';
import { cli, makeStore, sqlite as store } from '../support/own.js';
import { runMain, ServiceProcess, spawnMain } from '../support/service-process.js';

const TOKEN = /plant_[0-9A-Za-z]{38}/;

const NO_TOKEN = 'the store has no active token: run bin/plant-store token create NAME';

makeStore();

describe('a store that cannot be opened', () => {
  it.each([
    ['file/store.sqlite', "ENOTDIR: not a directory, open '[^\n]*/file/store.sqlite'"],
    ['file/new/store.sqlite', "ENOTDIR: not a directory, mkdir '[^\n]*/file/new'"],
    ['none/new/store.sqlite', "ENOENT: no such file or directory, mkdir '[^\n]*/none/new'"],
    ['broken/store.sqlite', 'broken'],
    ['file', 'file is not a database'],
  ])('%s', async (path, reason) => {
    writeFileSync(`${store.folder}/file`, 'x'.repeat(5000));
    symlinkSync('none', `${store.folder}/broken`);
    // Creates a store as a start does.
    const { code, stderr } = await cli('migrate', `sqlite:${resolve(store.folder, path)}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^error: DATABASE_URL: .*(${reason}).*\n$`));
  });
});

it('a first start creates no token with NODE_ENV=production', async () => {
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

/** The program that runs a start with at most so many open files, and the warning that this is too few. */
const limitFiles = (limit: number) => ['sh', '-c', `ulimit -n ${limit} && exec "$@"`, 'sh'];
const TOO_FEW = 'at most so many files and connections; raise it to 768';

it('a start prints URLs that respond, and does not warn of 768 open files', async () => {
  const under = limitFiles(768);
  const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' }, under });
  expect(service.output).not.toContain(TOO_FEW);
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

it('a start warns of fewer open files', async () => {
  const service = await ServiceProcess.start({ store, under: limitFiles(767) });
  await service.kill();
  expect(service.output).toContain(`ulimit -n is 767: ${TOO_FEW}`);
});

it('a start warns while every token is revoked or expired', async () => {
  for (const line of ['migrate', 'token create lost', 'token revoke lost'])
    expect((await cli(line)).code).toBe(0);
  await cli('token create brief --expires 1s');
  const isExpired = async () => (await cli('token list')).stdout.includes(' expired ');
  while (!(await isExpired())) await sleep(100);
  const next = await ServiceProcess.start({ store, token: 'none' });
  while (!next.output.includes(NO_TOKEN)) await sleep(10);
  await next.kill();
});

it('a signal ends a start that waits for the store, and the log says so', async () => {
  // It accepts connections, and never responds.
  const server = createServer();
  const port = await listen(server);
  const url = `postgres://plants@127.0.0.1:${port}/plants`;
  const child = spawnMain(store, { DATABASE_URL: url, DATABASE_TIMEOUT: '1s' });
  const ended = untilEnd(child);
  await once(server, 'connection');
  // The start tries again.
  await Promise.race([once(server, 'connection'), ended]);
  child.kill('SIGTERM');
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/SIGTERM: stopped before the service listened\n$/);
  server.close();
});

it('the thread that writes does not load what NODE_OPTIONS loads', async () => {
  const file = join(store.folder, 'instrumentation.mjs');
  writeFileSync(
    file,
    `import { writeSync } from 'node:fs';
    import { threadId } from 'node:worker_threads';
    writeSync(2, \`loaded by \${threadId}\n\`);`,
  );
  const service = await ServiceProcess.start({ store, env: { NODE_OPTIONS: `--import=${file}` } });
  expect(await service.client().create({ id: 1n, name: 'oak' })).toMatchObject({ status: 200 });
  await service.kill();
  expect(service.output.match(/loaded by \d+/g)).toEqual(['loaded by 0']);
});

describe('a failed start reports on stderr', () => {
  it('each bad variable, without a secret, after the lines of .env that are ignored', async () => {
    writeFileSync(join(store.folder, '.env'), 'PROT=3000\nLOG_LEVEL: debug\n');
    const bad = { PORT: '65536', DATABASE_URL: 'mysql://SECRET' };
    const { code, stdout, stderr } = await runMain(store, bad);
    expect(code).toBe(78);
    expect(stdout.match(/(?<=\[Configuration\] ).*/g)).toEqual([
      '.env:1: PROT is unknown: did you mean PORT?',
      '.env:2: ignored, as it has no NAME=value',
    ]);
    expect(stderr).toMatch(
      /^(error: Invalid configuration: (PORT|DATABASE_URL) must .* \(from environment\)\n){2}$/,
    );
    expect(stderr).not.toContain('SECRET');
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('a %s in use by another process', async (name) => {
    const server = createServer();
    const port = await listen(server);
    const ran = await runMain(store, { [name]: `${port}` });
    server.close();
    const problem = `listen EADDRINUSE: address already in use 127.0.0.1:${port}`;
    const rule = `perhaps the service runs already; else set another ${name} or ${name.replace('PORT', 'HOST')}`;
    expect(ran).toMatchObject({ code: 1, stderr: `error: ${problem}: ${rule}\n` });
    expect(existsSync(dirname(store.path))).toBe(false);
  });

  it.each(['', 'MANAGEMENT_'])('a foreign %sHOST, before a store is made', async (prefix) => {
    const management = prefix && { MANAGEMENT_PORT: '0' };
    const env = { [`${prefix}HOST`]: '192.0.2.1', ...management, LOG_LEVEL: 'info' };
    const rule = `set another ${prefix}PORT or ${prefix}HOST`;
    expect(await runMain(store, env)).toEqual({
      code: 1,
      // Only the line that names the store.
      stdout: expect.stringMatching(new RegExp(`^plant-store .*store: SQLite ${store.path}\n$`)),
      stderr: `error: listen EADDRNOTAVAIL: address not available 192.0.2.1: ${rule}\n`,
    });
    expect(existsSync(dirname(store.path))).toBe(false);
  });

  it('in production as a line of JSON each', async () => {
    const env = { NODE_ENV: 'production', PORT: 'x', LOG_LEVEL: 'y' };
    const { code, stderr } = await runMain(store, env);
    expect(code).toBe(78);
    const lines = stderr.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      ['PORT', 'LOG_LEVEL'].map((name) =>
        expect.objectContaining({
          level: 'fatal',
          context: 'PlantStore',
          msg: expect.stringMatching(`^Invalid configuration: ${name} must `),
        }),
      ),
    );
  });
});
