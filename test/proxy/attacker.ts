/**
 * A hostile host, in a process of its own: `node attacker.ts ATTACK PORT` attacks from 127.0.0.2 until it is killed, with
 * the headers of HEADERS. Prints "ready" once the attack is at its full strength, and "done" once it has lasted.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const [, , attack = '', port = ''] = process.argv;
const headers = process.env.HEADERS ?? '';
const POST = 'POST /plants HTTP/1.1\r\nhost: x\r\n';
const PAGE = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nhost: x\r\n\r\n';
const COMPRESSED_PAGE = PAGE.replace(
  '\r\n\r\n',
  '\r\naccept-encoding: gzip\r\nconnection: close\r\n\r\n',
);
const DRIP_MS = 50;

const range = (length: number) => Array.from({ length }, (_, i) => i);
const open = () =>
  connect({ port: Number(port), host: '127.0.0.1', localAddress: '127.0.0.2' }).on(
    // A reset: the connection is closed, and a new one opened.
    'error',
    () => undefined,
  );

/** A token holder's body of 64 KB that takes long to parse. */
const COSTLY = `{"id":1.5,"x":[${'-0,'.repeat(20_000)}0]}`;

/** Sends requests on many connections as fast as the responses come, until it has some number of these. */
async function flood(request: string, connections: number, total: number): Promise<void> {
  const batch = request.repeat(200);
  let responses = 0;
  const start = (): void => {
    const socket = open().once('close', start);
    const send = (): void => {
      while (socket.writable && socket.write(batch));
    };
    socket.on('connect', send).on('drain', send);
    socket.on(
      'data',
      (chunk) => (responses += chunk.toString('latin1').split('HTTP/1.1 ').length - 1),
    );
  };
  range(connections).forEach(start);
  while (responses < total / 5) await sleep(DRIP_MS);
  console.log('ready');
  while (responses < total) await sleep(DRIP_MS);
}

/** Sends a beginning on 500 connections, and then a byte at a time. Reopens those that are closed. */
async function drips(beginning: string): Promise<void> {
  const sockets = range(500).map(open);
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.write(beginning);
  console.log('ready');
  for (let drip = 0; drip < 40; drip++) {
    sockets.forEach((socket, i) => {
      if (socket.writable) return void socket.write('x');
      sockets[i] = open();
      sockets[i].write(beginning);
    });
    await sleep(DRIP_MS);
  }
}

/** Opens 1,500 connections, sends nothing, closes them, and again. */
async function connections(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const sockets = range(1_500).map(open);
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    if (round === 0) console.log('ready');
    await sleep(10 * DRIP_MS);
    for (const socket of sockets) socket.destroy();
  }
}

/** Asks for 16 large pages on 100 connections and reads none. */
async function pages(): Promise<void> {
  const unread = (): Socket => {
    const socket = open();
    socket.write(PAGE.repeat(16));
    return socket;
  };
  for (let round = 0; round < 5; round++) {
    const sockets = range(100).map(unread);
    await Promise.all(sockets.map((socket) => once(socket, 'readable')));
    if (round === 0) console.log('ready');
    await sleep(10 * DRIP_MS);
    for (const socket of sockets) socket.destroy();
  }
}

/** Loads a page that nginx compresses on 200 connections, each on a new one after a response. */
async function reloads(): Promise<void> {
  let closed = 0;
  const start = (): void => {
    const socket = open()
      .once('connect', () => socket.write(COMPRESSED_PAGE))
      .resume();
    socket.once('close', () => {
      closed += 1;
      start();
    });
  };
  range(200).forEach(start);
  while (closed < 400) await sleep(DRIP_MS);
  console.log('ready');
  while (closed < 20_000) await sleep(DRIP_MS);
}

const ATTACKS: Readonly<Record<string, () => Promise<void>>> = {
  refusals: () => flood(`${POST}${headers}content-length: 10\r\n\r\n{"id":1.5}`, 20, 5_000),
  errors: () => flood('GET /plant-store-error/ HTTP/1.1\r\nhost: x\r\n\r\n', 128, 300),
  costly: () =>
    flood(`${POST}${headers}content-length: ${COSTLY.length}\r\n\r\n${COSTLY}`, 40, 500),
  heads: () => drips(`${POST}x: `),
  bodies: () => drips(`${POST}${headers}content-length: 60000\r\n\r\n`),
  connections,
  pages,
  reloads,
};
await ATTACKS[attack]?.();
console.log('done');
// Goes on until it is killed, so that the honest client never creates without it.
setInterval(() => undefined, 60_000);
