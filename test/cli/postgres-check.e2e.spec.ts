/** @engine postgres */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cli, flipBit, passed } from './backups.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  service = await ServiceProcess.start({ store });
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
});
afterAll(async () => {
  await service.remove();
  await server.remove();
});

const failed = (message: RegExp) => ({
  code: 1,
  stdout: '',
  stderr: expect.stringMatching(
    new RegExp(`^error: ${message.source}; the store is damaged: stop the service, [^\n]+\n$`),
  ),
});

it('a store passes while its service runs', async () => {
  expect(await cli(store, 'check')).toEqual({ code: 0, stdout: passed(1, 1), stderr: '' });
});

it('may take longer than the statements of its role', async () => {
  await store.execute("ALTER ROLE postgres SET statement_timeout = '1s'");
  await store.execute('BEGIN; LOCK TABLE plants');
  const checked = cli(store, 'check');
  await store.untilLocked('plants');
  await sleep(1_200);
  await store.execute('COMMIT; ALTER ROLE postgres RESET statement_timeout');
  expect(await checked).toMatchObject({ code: 0 });
});

it.each(['check', 'export', 'backup b.sqlite'])(
  '%s has the rows of a table that is being rewritten',
  async (line) => {
    // Both rewrite the table, which a snapshot from before them finds empty.
    const rewrite = (type: string) => `ALTER TABLE plants ALTER created_at TYPE ${type}`;
    await store.execute(`BEGIN; ${rewrite('numeric')}; ${rewrite('bigint')}`);
    const ran = cli(store, line);
    await store.untilLocked('plants');
    await store.execute('COMMIT');
    expect(await ran).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/plants: 1\b|"oak"/),
    });
  },
);

it('reports a flipped bit in a file of the server', async () => {
  type Path = { path: string };
  const [row] = await store.rows<Path>("SELECT pg_relation_filepath('plants') AS path");
  await server.stop();
  flipBit(join(server.data, row?.path ?? ''), 'oak');
  await server.start();
  const damage = /invalid page in block 0 of [^\n]*/;
  for (const line of ['check', 'export']) expect(await cli(store, line)).toEqual(failed(damage));
  const logged = `the store is unavailable: ${damage.source}; the store is damaged: stop the service, `;
  const client = service.client();
  // Until an inspection finds the server again, it is away.
  while (!new RegExp(logged).test(service.output)) {
    expect((await client.create({ id: 1n, name: 'oak' })).status).toBe(503);
    await sleep(20);
  }
});
