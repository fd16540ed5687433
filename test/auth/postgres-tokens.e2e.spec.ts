/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, jest } from '@jest/globals';
import { createSecret } from '../../src/auth/tokens/token-secret.js';
import { MAX_WAITING } from '../../src/auth/wait-limit.js';
import type { ErrorDto } from '../../src/errors/error.dto.js';
import { ERRORS } from '../../src/errors/error-codes.js';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { runCli, runHere } from '../support/cli.js';
import type { PostgresStore } from '../support/postgres-store.js';
import { service, startService } from '../support/own.js';
import { requestText } from '../support/raw-connection.js';
import { countInFlight, Service } from '../support/service.js';

startService();
afterEach(() => void jest.restoreAllMocks());

/** Waits until the service has noticed that its store is whole again. */
async function untilServed(): Promise<void> {
  while ((await service.client.create({ id: 100n, name: 'oak' })).status !== 200) await sleep(20);
}

it('a revoke during a rotation revokes the new token too', async () => {
  const { tokens } = service;
  for (let i = 0; i < 10; i++) {
    const name = `b${i}`;
    await tokens.create(name);
    const [, revoked] = await Promise.allSettled([tokens.rotate(name), tokens.revoke(name)]);
    expect(revoked.status).toBe('fulfilled');
    const last = (await tokens.list()).findLast((token) => token.name === name);
    // Either both tokens are revoked, or the revoke came first and the rotation found no token.
    expect(last?.revokedAt).not.toBeNull();
  }
});

it('a token whose commit fails is not printed', async () => {
  const { store } = service;
  await store.execute(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'failed'; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON tokens DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fail()`);
  const options = { cwd: store.folder, env: { DATABASE_URL: store.url } };
  const ran = await runHere(['token', 'create', 'late'], options);
  await store.execute('DROP FUNCTION fail CASCADE');
  expect(ran).toEqual({ code: 1, stdout: '', stderr: 'error: failed\n' });
});

it('a sequence that is behind, as after logical replication, is named with what advances it', async () => {
  const { store } = service;
  await store.execute("SELECT setval(pg_get_serial_sequence('tokens', 'id'), 1, false)");
  const options = { cwd: store.folder, env: { DATABASE_URL: store.url } };
  const { code, stdout, stderr } = await runCli(['token', 'create', 'next'], options);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  const [, sql = ''] =
    /: the sequence of tokens.id is behind its rows, as after logical replication: run `(.*)`\n$/.exec(
      stderr,
    ) ?? [];
  expect(sql).toContain('setval');
  await store.execute(sql);
  expect((await runCli(['token', 'create', 'next'], options)).code).toBe(0);
  await untilServed();
});

it('a lookup that fails for many requests is in the log once', async () => {
  const { client, log, store, tokens } = service;
  const headers = {
    ...client.headers,
    authorization: `Bearer ${(await tokens.create('many')).secret}`,
  };
  const inFlight = countInFlight();
  await store.execute('BEGIN; ALTER TABLE tokens RENAME hash TO digest');
  const bodies = Array.from({ length: 10 }, (_, id) => `{"id":${id},"name":"oak"}`);
  const responses = Promise.all(bodies.map((body) => client.post(body, headers)));
  while (inFlight.count < bodies.length) await sleep(5);
  await store.execute('COMMIT');
  expect((await responses).map(({ status }) => status)).toEqual(bodies.map(() => 503));
  await store.execute('ALTER TABLE tokens RENAME digest TO hash');
  expect(log.text.split('the column hash of tokens is missing')).toHaveLength(2);
  await untilServed();
});

it('what a lookup has found is as old as its query: the result of a slow one is not accepted', async () => {
  const { client, store, tokens } = service;
  const headers = {
    ...client.headers,
    authorization: `Bearer ${(await tokens.create('slow')).secret}`,
  };
  const create = async () => (await client.post('{"id":1,"name":"oak"}', headers)).status;
  await store.execute('BEGIN; LOCK TABLE tokens');
  const waiting = create();
  await (store as PostgresStore).untilLocked('tokens');
  // More than the time for which a token is accepted without a lookup.
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + 4_000);
  await store.execute('COMMIT');
  // The token may have been revoked since the query began.
  expect(await waiting).toBe(503);
  await tokens.revoke('slow');
  expect(await create()).toBe(401);
});

it('beyond the limit of requests that wait for their token: 503 with 5002, also once their clients have left', async () => {
  // However long a busy machine takes, the store must not count as unavailable.
  const own = await Service.start({}, [], undefined, { databaseTimeout: 3_600_000 });
  const authorization = `Bearer ${createSecret()}`;
  const post = requestText({ ...own.client.headers, authorization }, '{"id":1,"name":"oak"}');
  const ask = async () => {
    using connection = await own.connect();
    const { body } = await connection.write(post).read();
    return (body as ErrorDto).error;
  };
  const connections = Array.from({ length: MAX_WAITING / MAX_PIPELINED });
  const inFlight = countInFlight();
  await own.store.execute('BEGIN; LOCK TABLE tokens');
  const crowd = await Promise.all(connections.map(() => own.connect()));
  for (const connection of crowd) connection.write(post.repeat(MAX_PIPELINED));
  while (inFlight.count < MAX_WAITING) await sleep(20);
  const [{ error: overloaded }, { error: invalid }] = [ERRORS.OVERLOADED, ERRORS.INVALID_TOKEN];
  expect(await ask()).toBe(overloaded);
  for (const connection of crowd) connection.close();
  while (inFlight.count > 0) await sleep(20);
  expect(await ask()).toBe(overloaded);
  await own.store.execute('COMMIT');
  while ((await ask()) !== invalid) await sleep(20);
  await own.stop();
});

it('the last use of a token does not go back behind what another process has recorded', async () => {
  const used = await Service.start();
  expect((await used.client.create({ id: 1n, name: 'oak' })).status).toBe(200);
  const later = BigInt(Date.now() + 60_000);
  await used.store.execute(`UPDATE tokens SET last_used_at = ${later}`);
  used.client.close();
  await used.app.close();
  expect(await used.store.rows('SELECT last_used_at FROM tokens')).toEqual([
    { last_used_at: later },
  ]);
  await used.store.remove();
});
