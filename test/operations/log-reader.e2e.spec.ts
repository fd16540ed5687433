/** @engine sqlite */
import { once } from 'node:events';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
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

/** Starts the service anew, with a terminal that `script` makes, and after a command there. */
async function startInTerminal(command = ''): Promise<void> {
  const script = `exec script --quiet --flush --return --command "${command} $*" /dev/null`;
  const { store } = service;
  await service.kill();
  service = await ServiceProcess.start({
    store,
    token: 'none',
    env: { LOG_REQUESTS: 'all' },
    under: ['sh', '-c', script, 'sh'],
  });
}

it('a terminal that is stopped does not stop the service', async () => {
  await startInTerminal();
  // `script` stops reading it while nobody reads what it prints.
  service.stdout.pause();
  await send(REQUESTS);
});

it('a terminal that the user of the service may not open has the log', async () => {
  const unprivileged = userInfo().uid === 0 ? 'setpriv --bounding-set=-all --inh-caps=-all' : '';
  await startInTerminal(`chmod 0 \\$(tty); exec ${unprivileged}`);
  await send(1);
  while (!service.output.includes('GET 404')) await sleep(5);
});
