import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { listen } from '../../test/support/local-server.js';
import { Config } from '../config/config.js';
import { PlantStoreAdapter } from './plant-store.adapter.js';
import { REQUEST_CLASSES } from './request-classes.js';

const OPTIONS = { ...REQUEST_CLASSES, requireHostHeader: false };

/** A request with a header field of this name, whose body is ten parts. */
const post = (field: string, end: string) =>
  `POST / HTTP/1.1\r\n${field}: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10)}${end}`;

it.each([
  ['whole', '0\r\n\r\n'],
  ['without an end', ''],
  ['with trailers', '0\r\nt: a\r\n\r\n'],
])(
  'requests behind a destroyed connection are one, which keeps no fields and no listeners: %s',
  async (_name, end) => {
    const seen: IncomingMessage[] = [];
    const responses: ServerResponse[] = [];
    const server = createServer(OPTIONS, (request, response) => {
      seen.push(request);
      responses.push(response);
      request.socket.destroy();
    });
    const port = await listen(server);
    for (const name of ['a', 'b', 'c']) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(post(`${name}1`, '0\r\n\r\n') + post(`${name}2`, end));
      await new Promise((resolve) => socket.resume().once('close', resolve));
    }
    server.close();
    const surplus = seen.filter((_, i) => i % 2 === 1);
    expect([surplus.length, new Set(surplus).size]).toEqual([3, 1]);
    expect(surplus[0]?.headers).toEqual({});
    expect(responses.at(-1)?.listenerCount('finish')).toBe(1);
  },
);

it('tiny chunks are in memory as few parts, in an app of Express too', async () => {
  const adapter = new PlantStoreAdapter(new Config());
  const arrived = Promise.withResolvers<IncomingMessage>();
  adapter.use('/', (request: IncomingMessage) => arrived.resolve(request));
  adapter.initHttpServer({});
  const server = adapter.getHttpServer() as Server;
  const socket = connect(await listen(server), '127.0.0.1');
  const text = '0123456789'.repeat(2_000);
  const chunks = text.replace(/./g, '1\r\n$&\r\n');
  socket.write(`POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
  const request = await arrived.promise;
  while (!request.complete) await sleep(5);
  const parts: Buffer[] = [];
  for (let part; (part = request.read() as Buffer | null);) parts.push(part);
  expect(Buffer.concat(parts).toString()).toBe(text);
  expect(parts.length).toBeLessThan(50);
  socket.destroy();
  server.close();
});
