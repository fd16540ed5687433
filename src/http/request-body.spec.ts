/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import express, { type Request } from 'express';
import { ERRORS } from '../errors/error-codes.js';
import { mergeParts, readBody } from './request-body.js';

/** A request whose body a body parser has read. */
const makeRequest = (length: number) =>
  ({ rawBody: Buffer.alloc(length), socket: { writable: true } }) as unknown as Request;

it('large bodies are for turns of the event loop of their own, in which others are served', async () => {
  let turn = 0;
  const bodies = Array.from({ length: 20 }, () => readBody(makeRequest(60_000)).then(() => turn));
  const all = Promise.all(bodies);
  const isOpen = () => Promise.race([all.then(() => false), nextTurn(true)]);
  while (await isOpen()) turn += 1;
  const turns = await all;
  expect(new Set(turns).size).toBe(turns.length);
});

it('bodies that are too many at once get OVERLOADED, and later ones are read', async () => {
  const bodies = Array.from({ length: 17 }, () => readBody(makeRequest(2 ** 20)));
  const [last, ...others] = (await Promise.allSettled(bodies)).reverse();
  expect(last).toMatchObject({ status: 'rejected', reason: { kind: ERRORS.OVERLOADED } });
  expect(others.every(({ status }) => status === 'fulfilled')).toBe(true);
  await readBody(makeRequest(2 ** 20));
});

it.each([
  [20_000, 20_000],
  [200_000, 0],
])(
  'of %d tiny chunks that nobody reads yet few parts are in memory, and at the end %d',
  async (length, kept) => {
    await using server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
    const [message] = (await once(server, 'request')) as [IncomingMessage];
    const request = Object.assign(message, { app: express() }) as unknown as Request;
    const merging = mergeParts(request);
    socket.write(`${'1\r\nx\r\n'.repeat(length)}0\r\n\r\n`);
    while (!request.complete) await sleep(5);
    expect(request.readableLength).toBe(kept);
    merging[Symbol.dispose]();
    let parts = 0;
    for (; request.readableLength > 0; parts++) request.read();
    expect(parts).toBeLessThan(1_000);
    socket.destroy();
  },
);
