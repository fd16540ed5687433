/** @engine sqlite */
import { beforeAll, expect, it } from '@jest/globals';
import { client, nginx, service, startBehindNginx } from './proxied-service.js';
import { RawConnection } from '../support/raw-connection.js';
import type { Received } from '../support/received.js';

startBehindNginx();
/** Connections with an incomplete head, and with an incomplete body. */
let slow: RawConnection[];
let create: Promise<Received>;
// All wait at the same time.
beforeAll(async () => {
  const head = 'POST /plants HTTP/1.1\r\nhost: localhost\r\n';
  slow = await Promise.all([0, 1].map(() => RawConnection.open(nginx.port)));
  slow[0]?.write(head);
  slow[1]?.write(`${head}content-length: 20\r\n\r\n{`);
  service.signal('SIGSTOP');
  create = client.create({ id: 1n, name: 'oak' });
});

it('a request that does not arrive in time gets no 408: nginx closes the connection', async () => {
  for (const connection of slow) {
    await connection.closed();
    await expect(connection.read()).rejects.toThrow(/the connection ended after: $/);
  }
  expect(nginx.accessLog.match(/"POST \/plants" 408/g)).toHaveLength(2);
});

it('503 with 5001 and Retry-After if the service does not respond in 15 s', async () => {
  expect(await create).toMatchObject({
    status: 503,
    body: { error: 5001, message: 'the service is unavailable' },
    headers: { 'retry-after': '1', server: 'nginx' },
  });
});
