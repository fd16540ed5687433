import { tmpdir } from 'node:os';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { runCli } from '../support/cli.js';
import { Client } from '../support/client.js';
import { service, startService } from '../support/own.js';
import { tally } from '../support/received.js';
import { Service } from '../support/service.js';
import { INVALID_TOKEN } from './refusals.js';

// Longer than a busy machine takes to store each of a refused group's plants.
startService({ DATABASE_TIMEOUT: '60s' });
beforeEach(() => service.store.execute('DELETE FROM plants'));

/** Creator and creation time of each plant, ordered by id. */
function trail(): Promise<{ id: bigint; token: string; created_at: bigint }[]> {
  return service.store.rows(`
    SELECT plants.id, tokens.name AS token, plants.created_at
    FROM plants JOIN tokens ON plants.created_by = 'token:' || tokens.id ORDER BY plants.id`);
}

/** A client with its own token. @param lifetime milliseconds; without it the token never expires */
async function clientOf(name: string, lifetime?: number): Promise<Client> {
  const { secret } = await service.tokens.create(name, lifetime);
  return new Client(service.port, secret);
}

describe('a plant', () => {
  let other: Client;
  beforeAll(async () => {
    other = await clientOf('other');
  });
  afterAll(() => other.close());

  it('records the token that created it, and the time', async () => {
    const before = Date.now();
    const clients = [service.client, other, other, service.client];
    const plants = clients.map((client, i) => client.create({ id: BigInt(i), name: 'oak' }));
    expect(tally(await Promise.all(plants))).toEqual({ '200 {"name":"oak"}': 4 });
    const after = Date.now();
    const found = await trail();
    expect(found.map(({ token }) => token)).toEqual(['test', 'other', 'other', 'test']);
    for (const { created_at: at } of found) {
      expect(Number(at)).toBeGreaterThanOrEqual(before);
      expect(Number(at)).toBeLessThanOrEqual(after);
    }
  });

  it('keeps its first creator when others repeat it or use its id', async () => {
    await service.client.create({ id: 1n, name: 'oak' });
    const first = await trail();
    expect((await other.create({ id: 1n, name: 'oak' })).status).toBe(200);
    expect((await other.create({ id: 1n, name: 'alder' })).status).toBe(400);
    expect(await trail()).toEqual(first);
  });

  it('is stored, with its own creator, when the store refuses others of the group', async () => {
    await service.store.refuse('bad');
    const clients = Array.from({ length: 200 }, (_, i) => (i % 3 === 0 ? other : service.client));
    const isBad = (id: bigint) => id % 50n === 7n;
    const responses = await Promise.all(
      clients.map((client, i) => {
        const id = BigInt(i);
        return client.create({ id, name: isBad(id) ? 'bad' : 'good' });
      }),
    );
    expect(tally(responses)).toEqual({
      '200 {"name":"good"}': 196,
      '500 {"error":5000,"message":"internal error"}': 4,
    });
    const wanted = clients.map((client, i) => [BigInt(i), client === other ? 'other' : 'test']);
    const found = (await trail()).map(({ id, token }) => [id, token]);
    expect(found).toEqual(wanted.filter((_, i) => !isBad(BigInt(i))));
  });
});

describe('a token', () => {
  /** Milliseconds within which a revoked token stops working on every process (README, "Tokens"). */
  const DEADLINE = 5_000;
  const ask = (client: Client) => client.post('{"id":1,"name":"oak"}');

  /** Revokes a token as another process does. */
  async function revoke(name: string): Promise<void> {
    await runCli(['token', 'revoke', name], {
      cwd: tmpdir(),
      env: { DATABASE_URL: service.store.url },
    });
  }

  const now = performance.now.bind(performance);
  /** Milliseconds that have passed besides those of the machine. */
  let passed = 0;

  /** Uses tokens until the deadline, while time passes fast. Use must not prolong it. */
  async function use(...clients: Client[]): Promise<Set<number>> {
    const statuses = new Set<number>();
    jest.spyOn(performance, 'now').mockImplementation(() => now() + passed);
    for (const end = passed + DEADLINE; passed < end; passed += 250)
      for (const client of clients) statuses.add((await ask(client)).status);
    return statuses;
  }
  afterEach(() => void jest.restoreAllMocks());

  it('stops within 5 s of its revocation, even in constant use while the wall clock is set back', async () => {
    using client = await clientOf('revoked', 60_000);
    expect((await ask(client)).status).toBe(200);
    const clock = Date.now.bind(Date);
    let steps = 0;
    // Each reading of the clock is an hour earlier.
    jest.spyOn(Date, 'now').mockImplementation(() => clock() - 3_600_000 * ++steps);
    await revoke('revoked');
    await use(client);
    expect(await use(client)).toEqual(new Set([401]));
    expect(await ask(client)).toMatchObject(INVALID_TOKEN);
  });

  it('expires by the wall clock as it is: one that was ahead for a moment leaves nothing behind', async () => {
    using client = await clientOf('brief', 60_000);
    const clock = Date.now.bind(Date);
    for (const ahead of [0, 61_000, 0, 8_640_000_000, -61_000, 0, 30_000, 61_000, 0]) {
      jest.spyOn(Date, 'now').mockImplementation(() => clock() + ahead);
      const wanted = ahead > 60_000 ? 401 : 200;
      expect([ahead, (await ask(client)).status]).toEqual([ahead, wanted]);
      expect([ahead, await use(client)]).toEqual([ahead, new Set([wanted])]);
    }
  });

  it('lasts its time when it is created after the wall clock was set back', async () => {
    const clock = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => clock() - 3_600_000);
    using client = await clientOf('later', 60_000);
    expect((await ask(client)).status).toBe(200);
  });
});

it('the last use of a token is stored by the time the service has stopped; an unused token has none', async () => {
  const ending = await Service.start();
  await ending.tokens.create('unused');
  await ending.client.post('{"id":1,"name":"oak"}');
  await ending.client.send({ headers: {}, body: '{"id":1,"name":"oak"}' });
  const before = Date.now();
  await ending.client.post('{"id":2,"name":"oak"}');
  const after = Date.now();
  ending.client.close();
  await ending.app.close();
  const uses = await ending.store.rows<{ name: string; last_used_at: bigint | null }>(
    'SELECT name, last_used_at FROM tokens ORDER BY name',
  );
  await ending.store.remove();
  expect(uses).toEqual([
    { name: 'test', last_used_at: expect.any(BigInt) },
    { name: 'unused', last_used_at: null },
  ]);
  expect(Number(uses[0]?.last_used_at)).toBeGreaterThanOrEqual(before);
  expect(Number(uses[0]?.last_used_at)).toBeLessThanOrEqual(after);
});
