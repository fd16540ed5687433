import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { TokensService } from '../src/auth/tokens.service.js';
import { Client } from './support/client.js';
import { Service } from './support/service.js';

let service: Service;
let other: Client;
beforeAll(async () => {
  service = await Service.start();
  other = new Client(service.port, await service.app.get(TokensService).create('other'));
});
afterAll(async () => {
  other.close();
  await service.stop();
});
beforeEach(() => service.store.execute('DELETE FROM plants'));

/** What is kept of the creation of each plant, in the order of the ids. */
function trail(): Promise<{ id: bigint; token: string; created_at: bigint }[]> {
  return service.store.rows(`
    SELECT plants.id, tokens.name AS token, plants.created_at
    FROM plants JOIN tokens ON plants.created_by = 'token:' || tokens.id ORDER BY plants.id`);
}

describe('a plant', () => {
  it('carries the token that created it, and when', async () => {
    const before = Date.now();
    const clients = [service.client, other, other, service.client];
    await Promise.all(clients.map((client, i) => client.create({ id: BigInt(i), name: 'oak' })));
    const after = Date.now();
    const found = await trail();
    expect(found.map(({ token }) => token)).toEqual(['test', 'other', 'other', 'test']);
    for (const { created_at: at } of found) {
      expect(Number(at)).toBeGreaterThanOrEqual(before);
      expect(Number(at)).toBeLessThanOrEqual(after);
    }
  });

  it('keeps its first creator, whoever repeats it or claims its id', async () => {
    await service.client.create({ id: 1n, name: 'oak' });
    const first = await trail();
    expect((await other.create({ id: 1n, name: 'oak' })).status).toBe(200);
    expect((await other.create({ id: 1n, name: 'alder' })).status).toBe(400);
    expect(await trail()).toEqual(first);
  });

  it('has one creator where several race, and all are told 200', async () => {
    const race = Array.from({ length: 100 }, (_, i) =>
      (i % 2 === 0 ? service.client : other).create({ id: 1n, name: 'oak', tag: 't' }),
    );
    const answers = await Promise.all(race);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await trail()).toHaveLength(1);
  });

  it('keeps no other creator than its own beside one that the store refuses', async () => {
    await service.store.refuse('bad');
    const clients = Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? other : service.client));
    const named = (i: number) => (i === 7 ? 'bad' : 'good');
    await Promise.all(clients.map((client, i) => client.create({ id: BigInt(i), name: named(i) })));
    const wanted = clients.map((client, i) => [BigInt(i), client === other ? 'other' : 'test']);
    const found = (await trail()).map(({ id, token }) => [id, token]);
    expect(found).toEqual(wanted.filter(([id]) => id !== 7n));
  });
});
