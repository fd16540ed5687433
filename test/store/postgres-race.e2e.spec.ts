/** @engine postgres */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { ServiceProcess } from '../support/service-process.js';
import { tally } from '../support/received.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const PROCESSES = 3;
const IDS = 100;
const TAKEN =
  '400 {"error":1004,"message":"the id already exists with different content, and plants cannot be changed"}';

let store: TemporaryStore;
const services: ServiceProcess[] = [];
beforeAll(async () => {
  store = await createStore();
  const first = await ServiceProcess.start({ store });
  const { token } = first;
  const others = Array.from({ length: PROCESSES - 1 }, () =>
    ServiceProcess.start({ store, token }),
  );
  services.push(first, ...(await Promise.all(others)));
});
afterAll(async () => {
  for (const service of services) await service.kill();
  await store.remove();
});

const range = (length: number) => Array.from({ length }, (_, i) => i);

/** The same numbers, shuffled for each client. */
const shuffled = (numbers: number[], by: number) =>
  numbers.toSorted((a, b) => ((a * 7 + by * 13) % 101) - ((b * 7 + by * 13) % 101));

it('processes race for ids with different contents: one wins, and all learn which', async () => {
  const all = services.flatMap((service) => [service.client(), service.client()]);
  const responses = await Promise.all(
    all.map((client, i) => {
      const sent = shuffled(range(IDS), i).map(async (id) => {
        const name = `of ${i % (all.length / 2)}`;
        return { id, name, response: await client.create({ id: BigInt(id), name }) };
      });
      return Promise.all(sent);
    }),
  );
  const winners = new Map((await store.plants()).map(({ id, name }) => [Number(id), name]));
  expect(winners.size).toBe(IDS);
  for (const { id, name, response } of responses.flat()) {
    const won = winners.get(id) === name;
    expect(response).toMatchObject(won ? { status: 200, body: { name } } : { status: 400 });
  }
  // Two clients have each content, so two get 200 for each id.
  const counts = tally(responses.flat().map(({ response }) => response));
  expect(counts[TAKEN]).toBe(IDS * (all.length - 2));
});

it('groups with the same ids in opposite orders do not wait for each other in a circle', async () => {
  // Each row takes so long that the groups of all processes overlap.
  await store.execute(`
    CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END $$;
    CREATE TRIGGER slow BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION slow()`);
  const ids = range(IDS);
  const responses = await Promise.all(
    services.flatMap((service, i) => {
      const client = service.client(IDS);
      const sent = i % 2 === 0 ? ids : ids.toReversed();
      return sent.map((id) => client.create({ id: BigInt(2_000 + id), name: 'oak' }));
    }),
  );
  await store.execute('DROP TRIGGER slow ON plants');
  // The server publishes a session's statistics once a second.
  await sleep(1_500);
  const deadlocks = 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()';
  expect(await store.rows(deadlocks)).toEqual([{ deadlocks: 0n }]);
  expect(tally(responses)).toEqual({ '200 {"name":"oak"}': IDS * PROCESSES });
});
