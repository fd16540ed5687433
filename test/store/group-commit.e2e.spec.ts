import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Writer } from '../../src/database/engine.js';
import { StoreUnavailableException } from '../../src/errors/error-codes.js';
import { commits, GroupCommit, type Commit } from '../../src/plants/group-commit.js';
import { Plant } from '../../src/plants/plant.entity.js';
import { ENGINE } from '../support/engine.js';
import { service, startService } from '../support/own.js';
import { requestText } from '../support/raw-connection.js';
import { Service } from '../support/service.js';
import { tally } from '../support/received.js';
import type { TemporaryStore } from '../support/temporary-store.js';

// A long wait on a busy machine must not count as an unavailable store.
startService({ DATABASE_TIMEOUT: '60s' });
beforeEach(() => service.store.execute('DELETE FROM plants'));

const range = (length: number) => Array.from({ length }, (_, i) => i);
const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);
/** Makes the store compute with a tag: the error quotes one that it cannot use. */
const QUOTE_TAG =
  ENGINE === 'sqlite'
    ? "CREATE INDEX used ON plants (json_extract('{}', tag))"
    : 'ALTER TABLE plants ADD height_of_a_test integer GENERATED ALWAYS AS (tag::integer) STORED';
const TAKEN =
  '400 {"error":1004,"message":"the id already exists with different content, and plants cannot be changed"}';

describe('plants that share a commit', () => {
  it('are all stored once, duplicates too', async () => {
    const ids = range(600).map((i) => BigInt(i % 200));
    const sent = ids.map((id) => service.client.create({ id, name: `n${id}` }));
    for (const { status } of await Promise.all(sent)) expect(status).toBe(200);
    expect(await service.store.plants()).toEqual(
      range(200).map((i) => ({ id: BigInt(i), name: `n${i}`, tag: null })),
    );
  });

  it('have one winner when they race for one id with different contents', async () => {
    for (const id of [1n, 2n, 3n, 4n, 5n]) {
      const names = range(100).map((i) => `n${i % 20}`);
      const responses = await Promise.all(names.map((name) => service.client.create({ id, name })));
      const winner = (await service.store.plant(id))?.name;
      expect(tally(responses)).toEqual({ [`200 {"name":"${winner}"}`]: 5, [TAKEN]: 95 });
    }
  });
});

it('requests that have arrived share a commit', async () => {
  const connections = await Promise.all(range(20).map(() => service.connect()));
  let sizes: number[] = [];
  const addSize = (commit: unknown) => sizes.push((commit as Commit).plants.length);
  commits.start.subscribe(addSize);
  const seen = new Set<string>();
  // The kernel of a busy machine may deliver some later, and does not in every round.
  for (let round = 0; round < 20; round++) {
    sizes = [];
    for (const [i, connection] of connections.entries())
      connection.write(
        requestText(service.client.headers, `{"id":${20 * round + i},"name":"oak"}`),
      );
    await Promise.all(connections.map((connection) => connection.read()));
    seen.add(sizes.join());
  }
  commits.start.unsubscribe(addSize);
  expect(seen).toContain('20');
  for (const connection of connections) connection.close();
});

it('a commit begins once the sockets were read again, not at the end of that turn', async () => {
  const order: string[] = [];
  const note = () => order.push('commit');
  commits.start.subscribe(note);
  await new Promise(setImmediate);
  const turn = new Promise(setImmediate).then(() => order.push('end of the turn'));
  const plant = Object.assign(new Plant(), { id: 1n, name: 'oak' });
  await Promise.all([service.app.get(GroupCommit).commit(plant), turn]);
  commits.start.unsubscribe(note);
  expect(order).toEqual(['commit', 'end of the turn']);
});

it('a conflict with a long plant does not bring that into memory', async () => {
  const query = jest.spyOn(service.app.get(Writer), 'query');
  const ids = range(20).map(BigInt);
  const send = (name: string) => Promise.all(ids.map((id) => service.client.create({ id, name })));
  await send('n'.repeat(60_000));
  expect(tally(await send('oak'))).toEqual({ [TAKEN]: ids.length });
  const rows = await Promise.all(query.mock.results.map(({ value }) => value));
  expect(JSON.stringify(rows).length).toBeLessThan(20_000);
  query.mockRestore();
});

it('a commit that succeeds in time does not make the store unavailable later', async () => {
  jest.useFakeTimers({
    doNotFake: ['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate'],
  });
  await service.app.get(GroupCommit).commit(Object.assign(new Plant(), { id: 1n, name: 'oak' }));
  jest.advanceTimersByTime(3_600_000);
  jest.useRealTimers();
  await new Promise(setImmediate);
  expect(service.log.text).not.toContain('the store is unavailable');
});

describe('a commit that fails', () => {
  it('is not tried again in halves while the store is unavailable; a later success ends the outage', async () => {
    const busy = await Service.start({ DATABASE_TIMEOUT: '2s' });
    const unlock = await busy.store.lock();
    let count = 0;
    const countCommit = () => (count += 1);
    commits.start.subscribe(countCommit);
    const plants = range(4).map((i) => Object.assign(new Plant(), { id: BigInt(i), name: 'oak' }));
    // All in one turn, so all in one group.
    const stored = plants.map((plant) => busy.app.get(GroupCommit).commit(plant));
    const unavailable = { reason: expect.any(StoreUnavailableException) };
    expect(await Promise.allSettled(stored)).toMatchObject(plants.map(() => unavailable));
    expect(count).toBe(1);
    commits.start.unsubscribe(countCommit);
    await unlock();
    // Nobody asks whether the service is ready, so commits alone can end the outage.
    while (!busy.log.text.includes('the store is available again')) {
      await busy.client.create({ id: 1n, name: 'oak' });
      await sleep(50);
    }
    await busy.stop();
  });

  it('is tried again only for plants whose requests still wait', async () => {
    const own = await Service.start({ DATABASE_TIMEOUT: '60s' });
    await own.store.refuse('bad');
    const groups: string[] = [];
    const noteGroup = (commit: unknown) =>
      groups.push((commit as Commit).plants.map(({ name }) => name).join());
    commits.start.subscribe(noteGroup);
    jest.useFakeTimers({
      doNotFake: ['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate'],
    });
    const writer = own.app.get(Writer);
    const query = writer.query.bind(writer);
    jest.spyOn(writer, 'query').mockImplementationOnce(async (...statement) => {
      // The first two have waited for half of DATABASE_TIMEOUT.
      jest.advanceTimersByTime(20_000);
      await new Promise(setImmediate);
      return query(...statement);
    });
    const commit = (name: string, id: number) =>
      own.app.get(GroupCommit).commit(Object.assign(new Plant(), { id: BigInt(id), name }));
    const first = ['ash', 'elm'].map(commit);
    jest.advanceTimersByTime(10_000);
    const outcomes = await Promise.allSettled([...first, commit('bad', 3), commit('oak', 4)]);
    jest.useRealTimers();
    commits.start.unsubscribe(noteGroup);
    expect(groups).toEqual(['ash,elm,bad,oak', 'bad,oak', 'bad', 'oak']);
    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual([
      false,
      false,
      false,
      true,
    ]);
    expect((await own.store.plants()).map(({ name }) => name)).toEqual(['oak']);
    await own.stop();
  });

  it.each([
    // What an operator has added: no inspection tells of it.
    [
      'a constraint',
      (store: TemporaryStore) => store.refuse('Quercus'),
      /check constraint|: secret/,
    ],
    [
      'a value that its message quotes',
      (store: TemporaryStore) => store.execute(QUOTE_TAG),
      /\((22P02|SQLITE_ERROR)\)\n/,
    ],
  ])(
    "by %s is logged as an error, with its cause under the request's id, without data of the plant",
    async (_what, refuse, cause) => {
      // In production the log is JSON.
      const broken = await Service.start({ NODE_ENV: 'production' });
      await refuse(broken.store);
      const { headers, status } = await broken.client.post(
        '{"id":1,"name":"Quercus","tag":"Quercus"}',
      );
      const requestId = headers['x-request-id'];
      while (broken.log.lines('Request').length === 0) await new Promise(setImmediate);
      await broken.stop();
      expect(status).toBe(500);
      expect(broken.log.lines('Request')).toMatchObject([
        { level: 'error', requestId, status: 500, error: 5000 },
      ]);
      const stack = expect.stringMatching(cause);
      expect(broken.log.lines('Errors')).toMatchObject([{ level: 'error', requestId, stack }]);
      expect(broken.log.text).not.toContain('Quercus');
    },
  );
});

describe('a plant that was neither inserted nor found', () => {
  // The trigger stands for a server that lacks what another one has.
  const SKIP =
    ENGINE === 'sqlite'
      ? `CREATE TRIGGER skip BEFORE INSERT ON plants WHEN NEW.name = 'kept out'
         BEGIN SELECT RAISE(IGNORE); END`
      : `CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
         CREATE TRIGGER skip BEFORE INSERT ON plants FOR EACH ROW WHEN (NEW.name = 'kept out')
         EXECUTE FUNCTION skip()`;
  let behind: Service;
  beforeAll(async () => {
    behind = await Service.start({ DATABASE_TIMEOUT: '60s' });
    await behind.store.execute(SKIP);
  });
  afterAll(() => behind.stop());

  it('gets 503 with 5001', async () => {
    const { status, body } = await behind.client.create({ id: 1n, name: 'kept out' });
    expect([status, body]).toMatchObject([503, { error: 5001 }]);
  });

  it.each([0, 1, 2])(
    'gets it in a group too, wherever it stands, and no other plant passes for it: %i',
    async (at) => {
      const plants = range(3).map((i) => ({
        id: BigInt(10 * at + i),
        name: i === at ? 'kept out' : 'oak',
      }));
      const commit = (plant: object) =>
        behind.app.get(GroupCommit).commit(Object.assign(new Plant(), plant));
      // All in one turn, so all in one group.
      const outcomes = await Promise.allSettled(plants.map(commit));
      const unavailable = { reason: expect.any(StoreUnavailableException) };
      expect(outcomes[at]).toMatchObject(unavailable);
      // The others may share its fate, but none is called taken, and what got a 200 is stored.
      for (const [i, outcome] of outcomes.entries())
        if (outcome.status === 'rejected') expect(outcome).toMatchObject(unavailable);
        else expect(await behind.store.plant(plants[i]?.id ?? -1n)).toMatchObject({ name: 'oak' });
    },
  );
});

it('a stop waits for all plants that wait for a commit', async () => {
  const own = await Service.start({ DATABASE_TIMEOUT: '60s' });
  const groups = own.app.get(GroupCommit);
  const unlock = await own.store.lock();
  // They are so long that they take several commits.
  const name = 'x'.repeat(60_000);
  const stored = range(120).map((i) =>
    groups.commit(Object.assign(new Plant(), { id: BigInt(i), name })),
  );
  const closed = own.app.close();
  const server = own.app.getHttpServer();
  while (server.listening) await sleep(5);
  // The hooks of a stop that does not wait would end meanwhile.
  await sleep(100);
  await unlock();
  const outcomes = await Promise.allSettled(stored);
  await closed;
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['fulfilled']));
  expect(await own.store.count()).toBe(120);
  await own.store.remove();
});

it('long plants share a commit up to 1 Mi characters', async () => {
  const busy = await Service.start({ DATABASE_TIMEOUT: '60s' });
  const sizes: number[] = [];
  const addSize = (commit: unknown) => sizes.push((commit as Commit).plants.length);
  commits.start.subscribe(addSize);
  const name = 'x'.repeat(60_000);
  const unlock = await busy.store.lock();
  const sent = range(64).map((i) => busy.client.create({ id: BigInt(i), name }));
  // On PostgreSQL some are in flight.
  while (busy.app.get(GroupCommit).queued + sum(sizes) < 64) await sleep(5);
  await unlock();
  expect(tally(await Promise.all(sent))).toEqual({ [`200 {"name":"${name}"}`]: 64 });
  commits.start.unsubscribe(addSize);
  expect(sum(sizes)).toBe(64);
  expect(Math.max(...sizes)).toBe(Math.floor(2 ** 20 / name.length));
  await busy.stop();
});
