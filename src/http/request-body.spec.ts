/** @engine sqlite */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import express, { type Request } from 'express';
import { mergeParts } from './request-body.js';

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
