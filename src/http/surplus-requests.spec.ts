import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { isSurplus, REQUEST_CLASSES } from './surplus-requests.js';

/** A request with a header field of this name, whose body is ten parts. */
const post = (field: string, end: string) =>
  `POST / HTTP/1.1\r\n${field}: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10)}${end}`;

it.each([
  ['whole', '0\r\n\r\n'],
  ['without an end', ''],
  ['with trailers', '0\r\nt: a\r\n\r\n'],
])(
  'requests behind a destroyed connection are one, which keeps no fields and no body: %s',
  async (_name, end) => {
    const seen: IncomingMessage[] = [];
    const server = createServer({ ...REQUEST_CLASSES, requireHostHeader: false }, (request) => {
      seen.push(request);
      request.socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    for (const name of ['a', 'b', 'c']) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(post(`${name}1`, '0\r\n\r\n') + post(`${name}2`, end));
      await new Promise((resolve) => socket.resume().once('close', resolve));
    }
    server.close();
    const surplus = seen.filter(isSurplus);
    expect([seen.length, surplus.length, new Set(surplus).size]).toEqual([6, 3, 1]);
    expect(surplus[0]?.headers).toEqual({});
    expect(surplus[0]?.readableLength).toBe(0);
  },
);
