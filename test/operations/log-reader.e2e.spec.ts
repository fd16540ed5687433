/** @engine sqlite */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ENDED, ServiceProcess } from '../support/service-process.js';

/** Enough lines to fill every pipe and the buffer for the reader. */
const REQUESTS = 4_000;
const GET = `GET /nowhere HTTP/1.1\r\nhost: x\r\nx-request-id: ${'7a'.repeat(64)}\r\n\r\n`;

let service: ServiceProcess;
let logged: string;
beforeEach(async () => {
  service = await ServiceProcess.start({ token: 'none', env: { NODE_ENV: 'production' } });
  logged = '';
  service.stdout.on('data', (chunk: Buffer) => (logged += chunk.toString()));
});
afterEach(() => service.remove());

/** Sends requests, each of which has a line in the log. Their client takes less CPU than those of other tests. */
async function send(count: number): Promise<void> {
  const socket = connect(service.port, '127.0.0.1');
  for (let left = count; left > 0; left--) {
    socket.write(GET);
    let response = '';
    while (!response.endsWith('}')) response += String(await once(socket, 'data'));
    if (!response.startsWith('HTTP/1.1 404 ')) throw new Error(response);
  }
  socket.destroy();
}

it('every response has its line, up to the last before the stop', async () => {
  const closed = once(service.stdout, 'close');
  await send(500);
  expect(await service.stop()).toEqual(ENDED);
  await closed;
  expect(logged.match(/"msg":"GET 404"\}\n/g)).toHaveLength(500);
});

it('a reader that pauses does not stop the service, and the log says what it missed', async () => {
  service.stdout.pause();
  await send(REQUESTS);
  service.stdout.resume();
  while (!logged.includes('lines were dropped')) await once(service.stdout, 'data');
  await send(1);
  while (!logged.endsWith('404"}\n')) await once(service.stdout, 'data');
  const dropped = Number(/"dropped":(\d+)/.exec(logged)?.[1]);
  expect(logged.match(/ 404"\}\n/g)).toHaveLength(REQUESTS + 1 - dropped);
});

it.each<[string, () => unknown]>([
  ['stops forever', () => service.stdout.pause()],
  ['has gone', () => service.stdout.destroy()],
])('a reader that %s does not delay the stop', async (_name, leave) => {
  leave();
  await send(REQUESTS);
  expect(await service.stop()).toEqual(ENDED);
});

it('a terminal that is stopped does not stop the service', async () => {
  // `script` makes a terminal, and stops reading it while nobody reads what it prints.
  const under = ['sh', '-c', 'exec script --quiet --flush --return --command "$*" /dev/null', 'sh'];
  const { store } = service;
  await service.kill();
  service = await ServiceProcess.start({
    store,
    token: 'none',
    env: { LOG_REQUESTS: 'all' },
    under,
  });
  service.stdout.pause();
  await send(REQUESTS);
});
