/** @engine sqlite */
import { afterEach, expect, it } from '@jest/globals';
import { requestText, type RawConnection } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';

const BODY = '{"id":1,"name":"n"}';
/** Connections that are opened at once: fewer than a backlog takes. */
const BATCH = 500;

let service: ServiceProcess;
/** A connection with an active token, older than the others. */
let known: RawConnection;
let others: RawConnection[];
afterEach(async () => {
  for (const connection of [known, ...others]) connection.close();
  await service.remove();
});

async function start(heapMb: number): Promise<void> {
  const NODE_OPTIONS = `--max-old-space-size=${heapMb}`;
  service = await ServiceProcess.start({ env: { NODE_OPTIONS } });
  known = await service.connect();
  others = [];
  expect(await create(known)).toBe(200);
}

async function connect(count: number): Promise<void> {
  const end = others.length + count;
  while (others.length < end) {
    const batch = Array.from({ length: Math.min(BATCH, end - others.length) });
    others.push(...(await Promise.all(batch.map(connectOne))));
  }
}

/** Opens a connection without a token. Its first request gives it 75 seconds until the next one, not 10. */
async function connectOne(): Promise<RawConnection> {
  const connection = await service.connect();
  await connection.write(requestText({})).read();
  return connection;
}

/** Sends a plant, and returns the status of its response. */
async function create(connection: RawConnection): Promise<number> {
  const response = await connection.write(requestText(service.client().headers, BODY)).read();
  return response.status;
}

/** Checks that a client with a token is served, on the known connection and on a new one. */
async function expectServing(): Promise<void> {
  await connect(1);
  for (const connection of [others.at(-1), known]) {
    expect(connection && (await create(connection))).toBe(200);
  }
}

/** Numbers, as Jest would print all of a socket. */
const countClosed = (connections: readonly RawConnection[]) =>
  connections.filter(({ socket }) => socket.destroyed).length;

it('of too much memory the oldest without a token are closed, and none with one, whatever it holds', async () => {
  // 40 % of this heap is counted as some 1,600 connections.
  await start(48);
  known.write(requestText({ ...service.client().headers, 'content-length': '60000' }));
  await connect(2_000);
  await others[0]?.closed();
  known.write(BODY.padEnd(60_000));
  expect(await known.read()).toMatchObject({ status: 200 });
  await expectServing();
  expect(countClosed(others.slice(-100))).toBe(0);
  expect(service.output).toContain('too much memory: closed');
});

it.each([
  ['of a length', { 'content-length': '60000' }],
  ['of a length beyond the limit, which counts as the limit', { 'content-length': '999999999999' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])('of too much memory those are closed first that announce a body: %s', async (_name, headers) => {
  await start(48);
  await connect(300);
  const idle = [...others];
  await connect(500);
  const announcing = others.slice(idle.length);
  const head = requestText(headers).replace('content-length: 0\r\n', '');
  for (const connection of announcing) connection.write(head);
  expect(await announcing.at(-1)?.read()).toMatchObject({ status: 401 });
  await announcing[0]?.closed();
  await expectServing();
  // Not because its body was late.
  expect(service.output).toContain('too much memory: closed');
  expect(countClosed(idle)).toBe(0);
});

it('of more than 10,000 connections a tenth is closed, the oldest without a token', async () => {
  await start(1_024);
  await connect(10_000);
  await others[999]?.closed();
  await expectServing();
  expect(countClosed(others.slice(3 * BATCH))).toBe(0);
});
