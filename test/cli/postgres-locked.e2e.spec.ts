/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import { runHere } from '../support/cli.js';
import { makeStore, store } from '../support/own.js';
import type { PostgresStore } from '../support/postgres-store.js';

makeStore();

/** The store, whose connection for queries is that of an operator. */
let operator: PostgresStore;
/** What a command says of the operator's lock on a table. */
let locked: (table: string) => string;

beforeEach(async () => {
  operator = store as PostgresStore;
  for (const line of ['migrate', 'token create nursery'])
    expect(await run(line, '60s')).toMatchObject({ code: 0 });
  const [row] = await operator.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  locked = (table) =>
    `${table} is locked by another session: wait, or end it by \`SELECT pg_terminate_backend(${row?.pid})\``;
});

/** Runs a command whose statement waits two seconds for a lock, unless told otherwise. */
function run(line: string, DATABASE_TIMEOUT = '5s') {
  const env = { DATABASE_URL: store.url, DATABASE_TIMEOUT, MANAGEMENT_PORT: 'off' };
  return runHere(line.split(' '), { cwd: store.folder, env, input: 'plant_x\n' });
}

it.each(['token list', 'token verify', 'token revoke nursery'])(
  '%s does not wait without end for a lock, and says whose it is',
  async (line) => {
    await operator.execute('BEGIN; LOCK TABLE tokens');
    const reason = 'DATABASE_URL: the store cannot be opened: the store took too long';
    const stderr = `error: ${reason}: ${locked('tokens')}\n`;
    expect(await run(line)).toEqual({ code: 1, stdout: '', stderr });
  },
);

// Commands that read the whole store begin as status does, but with a timeout of a minute.
it.each(['plants', 'tokens', 'plant_store_migrations'])(
  'status does not wait without end for a lock on %s, and says whose it is',
  async (table) => {
    await operator.execute(`BEGIN; LOCK TABLE ${table}`);
    const { code, stdout } = await run('status');
    expect(code).toBe(1);
    expect(stdout).toContain(`: ${locked(table)}\n`);
  },
);

it('status names no lock of a table that is not of the store', async () => {
  await operator.execute(`CREATE TABLE another (id int) PARTITION BY LIST (id); CREATE TABLE part PARTITION OF another DEFAULT;
    BEGIN; LOCK TABLE part, another, plants`);
  expect((await run('status')).stdout).toContain(`: ${locked('plants')}\n`);
});

it('status says who waits for the lock that it would have to wait for, too', async () => {
  const unlock = await store.lock();
  const waiting = operator.execute('BEGIN; LOCK TABLE plants');
  const { stdout } = await run('status');
  await unlock();
  await waiting;
  expect(stdout).toContain(`: ${locked('plants')}\n`);
});

it('status does not wait without end for an index that is being built again', async () => {
  await operator.execute('BEGIN; REINDEX TABLE plants');
  const { code, stdout } = await run('status');
  expect(code).toBe(1);
  expect(stdout).toMatch(/^store .*; canceling statement due to lock timeout$/m);
});

it('waits for a lock for longer than a statement of a request may take', async () => {
  await operator.execute('BEGIN; LOCK TABLE plants');
  const ran = run('status --json', '10s');
  await sleep(5_000);
  await operator.execute('COMMIT');
  expect(JSON.parse((await ran).stdout)).toMatchObject({ store: { plants: 0, problems: [] } });
});
