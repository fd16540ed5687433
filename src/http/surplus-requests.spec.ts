import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { listen } from '../../test/support/local-server.js';
import { isSurplus, REQUEST_CLASSES } from './surplus-requests.js';

/** A request with a header field of this name, whose body is ten parts. */
const post = (field: string, end: string) =>
  `POST / HTTP/1.1\r\n${field}: a\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(10)}${end}`;

it.each([
  ['whole', '0\r\n\r\n', 0],
  ['without an end', '', 0],
  ['with trailers', '0\r\nt: a\r\n\r\n', 0],
  ['more than a connection may have', '0\r\n\r\n', 1],
])(
  'requests behind a destroyed connection are one, which keeps no fields and no listeners: %s',
  async (_name, end, maxRequestsPerSocket) => {
    const seen: IncomingMessage[] = [];
    const responses: ServerResponse[] = [];
    const options = { ...REQUEST_CLASSES, requireHostHeader: false };
    const server = createServer(options, (request, response) => {
      seen.push(request);
      responses.push(response);
      request.socket.destroy();
    });
    server.on('dropRequest', (request: IncomingMessage) => seen.push(request));
    server.maxRequestsPerSocket = maxRequestsPerSocket;
    const port = await listen(server);
    for (const name of ['a', 'b', 'c']) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write(post(`${name}1`, '0\r\n\r\n') + post(`${name}2`, end));
      await new Promise((resolve) => socket.resume().once('close', resolve));
    }
    server.close();
    const surplus = seen.filter(isSurplus);
    expect([seen.length, surplus.length, new Set(surplus).size]).toEqual([6, 3, 1]);
    expect(surplus[0]?.headers).toEqual({});
    expect(responses.at(-1)?.listenerCount('finish')).toBe(1);
  },
);
