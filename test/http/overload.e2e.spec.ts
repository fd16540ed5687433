/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { AuthModule } from '../../src/auth/auth.module.js';
import { Authenticated } from '../../src/auth/authenticated.decorator.js';
import { MAX_PIPELINED } from '../../src/http/connections.js';
import { commits, MAX_QUEUED, type Commit } from '../../src/plants/group-commit.js';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { tally, type Received } from '../support/received.js';
import { countInFlight, Service } from '../support/service.js';

/** More than the queue and a group in flight can hold. */
const ALL = 3 * MAX_QUEUED;
const EACH = MAX_PIPELINED;
const CONNECTIONS = ALL / EACH;

/** An operation that needs no room in the queue. */
@Controller('others')
@Authenticated('plants:create')
class OthersController {
  @Get()
  list() {
    return [];
  }
}

@Module({ imports: [AuthModule], controllers: [OthersController] })
class OthersModule {}

const range = (length: number) => Array.from({ length }, (_, i) => i);

let service: Service;
let connections: RawConnection[];
beforeAll(async () => {
  // However long a busy machine takes, the store must not count as unavailable.
  service = await Service.start({}, [OthersModule], undefined, { databaseTimeout: 3_600_000 });
  // Nor must a request that it was slow to send.
  const limits = { headersTimeout: 0, requestTimeout: 0, maxConnections: 2 * CONNECTIONS };
  Object.assign(service.app.getHttpServer(), limits);
  connections = await Promise.all(range(CONNECTIONS).map(() => service.connect()));
  // The service accepts connections one by one; a response shows that it has them all.
  await Promise.all(connections.map((connection) => connection.write(post(-1)).read()));
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await service.stop();
});

/** The bytes of a request for a plant of this id. */
function post(id: number): string {
  return requestText(service.client.headers, `{"id":${id},"name":"n"}`);
}

/** Sends `count` requests at once. Returns the responses, ordered by the ids from 0 on. */
async function flood(): Promise<Received[]> {
  const all = connections.map(async (connection, c) => {
    connection.write(
      range(EACH)
        .map((i) => post(c * EACH + i))
        .join(''),
    );
    const responses: Received[] = [];
    for (let i = 0; i < EACH; i++) responses.push(await connection.read());
    return responses;
  });
  return (await Promise.all(all)).flat();
}

/** Whether a request is refused before its body is sent; otherwise the service waits for it. */
async function isRefusedAtOnce(): Promise<boolean> {
  const connection = await service.connect();
  connection.write(requestText({ ...service.client.headers, 'content-length': '20' }));
  const isRefused = connection.read().then(
    ({ status, body }) => status === 503 && (body as { error: number }).error === 5002,
    () => false,
  );
  const result = await Promise.race([isRefused, sleep(200, false)]);
  connection.close();
  return result;
}

it("beyond the queue's limit: 503 with 5002, and nothing is lost", async () => {
  const sizes: number[] = [];
  const addSize = (commit: unknown) => sizes.push((commit as Commit).plants.length);
  commits.start.subscribe(addSize);
  const unlock = await service.store.lock();
  const flooding = flood();
  while (!(await isRefusedAtOnce()));
  await unlock();
  const responses = await flooding;
  commits.start.unsubscribe(addSize);
  expect(Math.max(...sizes)).toBe(MAX_QUEUED);
  expect(Object.keys(tally(responses)).sort()).toEqual([
    '200 {"name":"n"}',
    '503 {"error":5002,"message":"overloaded"}',
  ]);
  const stored = responses.flatMap(({ status }, id) => (status === 200 ? [BigInt(id)] : []));
  expect((await service.store.plants()).map(({ id }) => id)).toEqual([-1n, ...stored]);
  const refused = responses.filter(({ status }) => status === 503);
  for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
});

it('beyond the limit a request is refused before its body arrives; later ones are served', async () => {
  const unlock = await service.store.lock();
  const inFlight = countInFlight();
  const [begun, connection] = [await service.connect(), await service.connect()];
  begun.write(requestText({ ...service.client.headers, 'content-length': '20' }));
  while (inFlight.count === 0) await sleep(5);
  const flooding = flood();
  while (!(await isRefusedAtOnce()));
  const { headers } = service.client;
  for (const [path, status] of [
    ['/others', 200],
    ['/openapi.json', 200],
    ['/nowhere', 404],
  ] as const)
    expect((await fetch(`http://127.0.0.1:${service.port}${path}`, { headers })).status).toBe(
      status,
    );
  expect((await fetch(`http://127.0.0.1:${service.port}/others`)).status).toBe(401);
  // One that was begun before is refused once its plant has arrived.
  begun.write('{"id":-4,"name":"n"}');
  expect(await begun.read()).toMatchObject({ status: 503, body: { error: 5002 } });
  begun.close();
  connection.write(requestText({ ...service.client.headers, 'content-length': '20' }));
  expect((await connection.read()).headers).toMatchObject({ 'retry-after': '1' });
  await unlock();
  await flooding;
  // The refused body arrives now and is dropped; the connection stays open.
  connection.write('{"id":-2,"name":"n"}');
  let status = 0;
  while (status !== 200) ({ status } = await connection.write(post(-3)).read());
  expect(await service.store.plant(-2n)).toBeUndefined();
});
