import { createServer } from 'node:http';
import { expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { describeDatabase } from '../../src/config/database-url.js';
import { runCli, runHere } from '../support/cli.js';
import { createStore, ENGINE } from '../support/engine.js';
import { listen } from '../support/local-server.js';
import { makeStore, sqlite, store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

makeStore();

const run = (line: string, port = '1', { url } = store) =>
  runHere(line.split(' '), {
    cwd: store.folder,
    env: { DATABASE_URL: url, MANAGEMENT_PORT: port },
  });

/** The printed rows, by their names. */
function rowsOf(stdout: string): Record<string, string> {
  const lines = stdout.trimEnd().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/ {2,}/) as [string, string]));
}

it('status of a service that is ready: 0, and what an operator asks first', async () => {
  const service = await ServiceProcess.start({ store, env: { MANAGEMENT_PORT: '0' } });
  const port = /Management: \S+:(\d+)/.exec(service.printed)?.[1] ?? '';
  await service.client().create({ id: 1n, name: 'oak' });
  await run('token create nursery --expires 90d');
  // The old one expires tomorrow, but has a successor.
  for (const command of ['create', 'rotate']) await run(`token ${command} orchard`);
  await run('backup copy.sqlite');
  const { code, stdout, stderr } = await run('status', port);
  const json = JSON.parse((await run('status --json', port)).stdout) as object;
  const tokens = JSON.parse((await run('token list --json')).stdout) as {
    name: string;
    expiresAt: string;
  }[];
  const nextExpiry = tokens.find((token) => token.name === 'nursery')?.expiresAt;
  const [backup] = await store.rows<{ time: bigint }>('SELECT finished_at AS time FROM backups');
  const lastBackup = new Date(Number(backup?.time)).toISOString();
  const minutes = (time = '') => time.slice(0, 16).replace('T', ' ');
  const other = await createStore();
  const elsewhere = await run('status', port, other);
  await other.remove();
  const proxy = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const env = { DATABASE_URL: store.url, MANAGEMENT_PORT: port, ...proxy };
  const pastProxy = await runCli(['status'], { cwd: store.folder, env });
  await service.kill();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const url = `http://127.0.0.1:${port}/readyz`;
  const name = describeDatabase(store.url);
  expect(rowsOf(stdout)).toEqual({
    version: `${VERSION}, Node.js ${process.versions.node}`,
    store: name,
    plants: '1',
    tokens: '4 active',
    'next expiry (UTC)': minutes(nextExpiry),
    'last backup (UTC)': minutes(lastBackup),
    service: `ready (${url})`,
  });
  expect(json).toEqual({
    version: VERSION,
    node: process.versions.node,
    store: { name, plants: 1, activeTokens: 4, nextExpiry, lastBackup, problems: [], warnings: [] },
    service: { url, state: 'ready', version: VERSION, store: name, reasons: [] },
  });
  expect(elsewhere.code).toBe(1);
  expect(rowsOf(elsewhere.stdout).service).toBe(`ready; another store: ${name} (${url})`);
  // It does not ask the proxy of the environment.
  expect(pastProxy).toEqual({ code, stdout, stderr });
});

it('status says what the store is not, and, as a start does, what can change or drop a plant', async () => {
  await run('migrate');
  await store.execute(
    ENGINE === 'sqlite'
      ? `CREATE TRIGGER skip BEFORE INSERT ON plants WHEN NEW.id = 0 BEGIN SELECT RAISE(IGNORE); END`
      : `CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER skip BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.id = 0) EXECUTE FUNCTION skip()`,
  );
  const warning = 'the trigger skip of plants can change or drop a plant that gets 200';
  expect((await run('status')).stderr).toBe(`warning: ${warning}\n`);
  expect((await startHere(store.url)).stdout).toContain(warning);
  await store.execute("ALTER TABLE plants ADD COLUMN soil_of_a_test text NOT NULL DEFAULT ''");
  expect(rowsOf((await run('status')).stdout).store).toBe(describeDatabase(store.url));
  await store.execute('ALTER TABLE backups RENAME COLUMN finished_at TO ended_at');
  const { code, stdout } = await run('status');
  expect(code).toBe(1);
  expect(rowsOf(stdout).store).toMatch(
    /the column (finished_at of backups|backups.finished_at) is missing/,
  );
});

const ADVICE = 'if the service runs, set its MANAGEMENT_PORT here';

it('status of a store that is there without a service: 1', async () => {
  await run('migrate');
  const { code, stdout } = await run('status --json');
  const reasons = [`connect ECONNREFUSED 127.0.0.1:1: ${ADVICE}`];
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    store: { plants: 0, activeTokens: 0, nextExpiry: null, lastBackup: null },
    service: { state: 'no response', url: 'http://127.0.0.1:1/readyz', reasons },
  });
});

it.each([
  [
    JSON.stringify({
      error: {
        lifecycle: { phase: 'starting', status: 'down' },
        store: { message: `no\u001B${'x'.repeat(300)}`, status: 'down' },
      },
      details: { service: { version: '1.0.0', store: 'SQLite /x' } },
    }),
    `not ready; lifecycle: starting; store: no\\u001b${'x'.repeat(300)}; another version: 1.0.0; another store: SQLite /x`,
  ],
  ['{"error":{},"details":{}}', `no response; another program has this port: ${ADVICE}`],
  ['<html>', `no response; another program has this port: ${ADVICE}`],
])('status shows the whole reason in words', async (body, service) => {
  await run('migrate');
  const other = createServer((_request, response) => void response.writeHead(503).end(body));
  const port = await listen(other);
  const { code, stdout } = await run('status', String(port));
  other.close();
  expect(code).toBe(1);
  expect(rowsOf(stdout).service).toBe(`${service} (http://127.0.0.1:${port}/readyz)`);
});

it('status of a store that another program has locked: 1, why, and what the service says', async () => {
  await run('migrate');
  const other = createServer(
    (_request, response) => void response.end('{"error":{},"details":{"service":{}}}'),
  );
  const port = await listen(other);
  const database = ENGINE === 'sqlite' ? sqlite.open() : undefined;
  database?.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  if (!database) await store.execute('BEGIN; LOCK TABLE plants');
  const { code, stdout } = await run('status', String(port));
  database?.close();
  other.close();
  expect(code).toBe(1);
  expect(rowsOf(stdout)).toMatchObject({
    store: expect.stringMatching(/; .* is locked/),
    plants: '-',
    service: expect.stringMatching(/^ready; /),
  });
});

it('status without a store: 1, and what to do', async () => {
  const { code, stdout } = await run('status', 'off');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^store +\w.*; .* cannot be opened: .*`bin\/plant-store migrate`/m);
  for (const row of ['plants', 'last backup (UTC)'])
    expect(stdout).toMatch(new RegExp(`^${RegExp.escape(row)} +-$`, 'm'));
  expect(stdout).toMatch(/^service +not asked; MANAGEMENT_PORT is off$/m);
});
