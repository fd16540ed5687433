/** @engine sqlite */
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { GroupCommit } from '../../src/plants/group-commit.js';
import { runHere } from '../support/cli.js';
import { ServiceProcess } from '../support/service-process.js';
import { Service } from '../support/service.js';
import { SqliteStore } from '../support/sqlite-store.js';
import { startHere } from '../support/start-here.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };

describe('a store in trouble', () => {
  let service: Service;
  beforeAll(async () => {
    service = await Service.start();
  });
  afterAll(() => service.stop());

  /** Creates a plant until an inspection has found that the store is available again. */
  async function untilStored(): Promise<void> {
    while ((await service.client.create({ id: 1n, name: 'oak' })).status !== 200) await sleep(20);
  }

  it('locked for long: 503 with 5001 and Retry-After, and nothing is stored', async () => {
    const unlock = await service.store.lock();
    const { status, body, headers } = await service.client.create({ id: 1n, name: 'oak' });
    // On a busy machine the statement waits for longer than the client.
    while (!service.app.get(GroupCommit).isIdle) await sleep(5);
    await unlock();
    expect({ status, body }).toEqual(UNAVAILABLE);
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(await service.store.count()).toBe(0);
    await untilStored();
    expect(await service.store.count()).toBe(1);
  });

  it('locked: requests that do not write get responses', async () => {
    const unlock = await service.store.lock();
    const waiting = service.client.create({ id: 1n, name: 'oak' });
    const { status, body } = await service.client.post('{"id":"1","name":"oak"}');
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 1003 } });
    await unlock();
    expect((await waiting).status).toBe(200);
  });

  it.each(['plants', 'tokens'])('without its table of %s: 503 with 5001', async (table) => {
    // A new token, so that the service must look it up.
    const { secret } = await service.tokens.create(`for-${table}`);
    const headers = { ...service.client.headers, authorization: `Bearer ${secret}` };
    await service.store.execute(`ALTER TABLE ${table} RENAME TO elsewhere`);
    const { status, body } = await service.client.post('{"id":2,"name":"oak"}', headers);
    await service.store.execute(`ALTER TABLE elsewhere RENAME TO ${table}`);
    expect({ status, body }).toEqual(UNAVAILABLE);
    await untilStored();
    expect((await service.client.post('{"id":2,"name":"oak"}', headers)).status).toBe(200);
  });
});

it('in a locked store a plant that is given up during its commit takes no other from the queue', async () => {
  const slow = await Service.start({ DATABASE_TIMEOUT: '4s' });
  const groups = slow.app.get(GroupCommit);
  const unlock = await slow.store.lock();
  /** Sends a plant that waits for the commit in progress. */
  const queue = async (id: bigint) => {
    while (groups.queued > 0) await sleep(5);
    const response = slow.client.create({ id, name: 'oak' });
    while (groups.queued === 0) await sleep(5);
    return { response };
  };
  const first = slow.client.create({ id: 1n, name: 'oak' });
  while (groups.isIdle || groups.queued > 0) await sleep(5);
  // The third one has as much time more to arrive.
  await sleep(500);
  const second = await queue(2n);
  expect(await first).toMatchObject(UNAVAILABLE);
  const third = await queue(3n);
  expect(await second.response).toMatchObject(UNAVAILABLE);
  await unlock();
  expect((await third.response).status).toBe(200);
  await slow.stop();
});

describe('a full disk', () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    // A limit on file sizes stops writes like a full disk.
    service = await ServiceProcess.start({
      under: ['sh', '-c', 'ulimit -f 2000; exec "$@"', 'sh'],
    });
  });
  afterAll(() => service.remove());

  it('503 with 5001, then recovery without a restart; acknowledged plants are stored', async () => {
    const name = 'x'.repeat(20_000);
    const send = (id: number) => service.client().create({ id: BigInt(id), name });
    let stored = 0;
    while ((await send(stored)).status === 200) stored++;
    const { status, body, headers } = await send(stored);
    expect({ status, body }).toEqual(UNAVAILABLE);
    expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    const ids = async () => (await service.store.plants()).map(({ id }) => Number(id));
    expect(await ids()).toEqual(Array.from({ length: stored }, (_, id) => id));

    // With room again, a checkpoint empties the write-ahead log.
    await service.store.rows('PRAGMA wal_checkpoint(TRUNCATE)');
    expect((await send(stored)).status).toBe(200);
    expect(await ids()).toHaveLength(stored + 1);
  });
});

it('a checkpoint that cannot write ends the process, and the next start recovers what was acknowledged', async () => {
  const own = new SqliteStore();
  const run = (line: string) =>
    runHere(line.split(' '), { cwd: own.folder, env: { DATABASE_URL: own.url } });
  expect((await run('migrate')).code).toBe(0);
  const token = (await run('token create nursery')).stdout.trim();
  // New pages lie beyond a limit that the log stays below.
  await own.execute('INSERT INTO plants (id, name) VALUES (-1, hex(zeroblob(30000000)))');
  const under = ['sh', '-c', 'ulimit -f 100000; exec "$@"', 'sh'];
  const limited = await ServiceProcess.start({ store: own, token, under });
  const client = limited.client();
  const name = 'x'.repeat(60_000);
  let stored = 0;
  const send = () => client.create({ id: BigInt(stored), name }).catch(() => undefined);
  while ((await send())?.status === 200) stored++;
  await limited.exited;
  expect(limited.output).toContain('a checkpoint failed (SQLITE_IOERR_WRITE): the process ends');

  expect(await startHere(own.url)).toMatchObject({ code: 0 });
  expect(await own.count()).toBeGreaterThan(stored);
  await limited.remove();
});

describe('while the service runs', () => {
  const OAK = { id: 1n, name: 'oak' };
  const env = { MANAGEMENT_PORT: '0' };
  let service: ServiceProcess;
  let store: SqliteStore;
  beforeAll(async () => {
    store = new SqliteStore();
    service = await ServiceProcess.start({ store, env });
    expect((await service.client().create(OAK)).status).toBe(200);
  });
  afterAll(() => service.remove());

  /** Checks that neither a new plant nor a repeat gets 200, that the service is not ready, and that the log has the reason. */
  async function expectAway(reason: string, of = service): Promise<void> {
    const { details } = await of.monitor.until(503, 'store');
    expect(details.store?.message).toContain(reason);
    for (const id of [1n, 2n])
      expect(await of.client().create({ ...OAK, id })).toMatchObject(UNAVAILABLE);
    expect(of.output).toContain(`the store is unavailable: ${reason}`);
  }

  it('the file is moved away: 503 with 5001, not ready; recovers when the file is moved back', async () => {
    const elsewhere = `${store.path}.elsewhere`;
    renameSync(store.path, elsewhere);
    await expectAway(
      `${store.path} was removed or replaced while the service runs: it is ${elsewhere}: ` +
        `put it back by \`mv '${elsewhere}' '${store.path}'\``,
    );
    renameSync(elsewhere, store.path);
    await service.monitor.until(200);
    expect((await service.client().create({ ...OAK, id: 3n })).status).toBe(200);
    expect(await store.plant(3n)).toEqual({ id: 3n, name: 'oak', tag: null });
  });

  it('its folder can no longer be entered: 503 with 5001, not ready', async () => {
    const folder = dirname(store.path);
    renameSync(folder, `${folder}.elsewhere`);
    // A link to itself, as root may enter every folder.
    symlinkSync(folder, folder);
    // Nothing was replaced: to remove the log would lose plants.
    await expectAway(
      `ELOOP: too many symbolic links encountered, lstat '${store.path}': let the service's user reach it again`,
    );
    rmSync(folder);
    renameSync(`${folder}.elsewhere`, folder);
    await service.monitor.until(200);
  });

  it('a link in its path leads elsewhere: 503 with 5001, not ready', async () => {
    const own = new SqliteStore();
    const folder = dirname(own.path);
    const link = `${folder}-link`;
    mkdirSync(folder);
    symlinkSync(folder, link);
    const linked = Object.create(own, {
      url: { value: `sqlite:${link}/store.sqlite` },
    }) as typeof own;
    const started = await ServiceProcess.start({ store: linked, env });
    expect((await started.client().create(OAK)).status).toBe(200);
    cpSync(folder, `${folder}-other`, { recursive: true });
    rmSync(link);
    symlinkSync(`${folder}-other`, link);
    await expectAway(
      `${link}/store.sqlite was removed or replaced while the service runs: let it lead to '${own.path}' again`,
      started,
    );
    rmSync(link);
    symlinkSync(folder, link);
    await started.monitor.until(200);
    await started.remove();
  });

  it.each([
    ['log', '-wal'],
    ['index of its log', '-shm'],
    ['lock', '-lock'],
  ])(
    'its %s is moved away: 503 with 5001, not ready, until it is put back',
    async (_name, suffix) => {
      const path = store.path + suffix;
      renameSync(path, `${path}.elsewhere`);
      await expectAway(
        `${path} was removed or replaced while the service runs: put it back, or restart the service`,
      );
      renameSync(`${path}.elsewhere`, path);
      await service.monitor.until(200);
      expect((await service.client().create(OAK)).status).toBe(200);
    },
  );
});
