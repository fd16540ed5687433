/** @engine sqlite */
import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { requestText } from '../support/raw-connection.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
beforeAll(async () => {
  service = await ServiceProcess.start({ isTls: true });
});
afterAll(() => service.remove());

/** A TLS connection whose client may half-close it. */
async function open(maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3'): Promise<TLSSocket> {
  const { port } = service;
  // Missing in Node's types.
  const halfOpen = { allowHalfOpen: true };
  const socket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    maxVersion,
    ...halfOpen,
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

it('responds to a client that closes its side after its request, and ends the connection', async () => {
  const socket = await open();
  socket.end(requestText(service.client().headers, '{"id":1,"name":"oak"}'));
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*{"name":"oak"}$/);
});

it('refuses renegotiation of TLS 1.2', async () => {
  const socket = await open('TLSv1.2');
  const outcome = new Promise((resolve) => {
    socket.on('error', resolve).on('secure', () => resolve('renegotiated'));
  });
  socket.renegotiate({}, () => undefined);
  expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  socket.destroy();
});

it('does not read a long body in TLS records of one byte to its end', async () => {
  const socket = await open();
  const closed = new Promise((resolve) => socket.resume().on('close', resolve));
  socket.write(requestText({ 'content-length': '60000' }));
  for (let sent = 0; sent < 60_000 && !socket.destroyed; sent++) {
    socket.write('x');
    if (sent % 100 === 0) await sleep(1);
  }
  await closed;
  expect(socket.bytesWritten).toBeLessThan(30_000);
});

it.each([
  ['a head', (i: number) => 'GET /plants HTTP/1.1\r\nhost: a\r\nx: '[i] ?? 'x'],
  ['blank lines', () => '\r\n'],
])('does not read %s in TLS records of a byte or two to the end', async (_name, piece) => {
  const socket = await open();
  const closed = new Promise((resolve) => socket.resume().on('close', resolve));
  for (let sent = 0; sent < 60_000 && !socket.destroyed; sent++) {
    socket.write(piece(sent));
    if (sent % 100 === 0) await sleep(1);
  }
  await closed;
  expect(socket.bytesWritten).toBeLessThan(30_000);
});

it('serves a token holder whose requests come in small records, however many', async () => {
  const socket = await open();
  const request = requestText(service.client().headers, '{"id":1,"name":"oak"}');
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  for (let i = 1; i <= 50; i++) {
    for (const line of request.split(/(?<=\n)/)) socket.write(line);
    while (received.split('HTTP/1.1 200 OK').length <= i && !socket.destroyed) await sleep(1);
  }
  expect(received.split('HTTP/1.1 200 OK')).toHaveLength(51);
  socket.destroy();
});

it('serves a client that sends its head line by line', async () => {
  const socket = await open();
  const lines = requestText(service.client().headers, '{"id":1,"name":"oak"}').split(/(?<=\n)/);
  for (const line of lines) {
    socket.write(line);
    await sleep(1);
  }
  socket.end();
  expect(await text(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*{"name":"oak"}$/);
});

/** HKDF-Expand-Label (RFC 8446, section 7.1) without a context, by SHA-384. */
function expandLabel(secret: Buffer, label: string, length: number): Buffer {
  const info = Buffer.from(
    `\0${String.fromCharCode(length, 6 + label.length)}tls13 ${label}\0\x01`,
  );
  return createHmac('sha384', secret).update(info).digest().subarray(0, length);
}

/** A record of TLS 1.3 by TLS_AES_256_GCM_SHA384, the first under its secret (RFC 8446, section 5.2). */
function sealRecord(secret: Buffer, type: number, content: Buffer): Buffer {
  const header = Buffer.from([23, 3, 3, 0, content.length + 17]);
  const [key, nonce] = [expandLabel(secret, 'key', 32), expandLabel(secret, 'iv', 12)];
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(header);
  const sealed = cipher.update(Buffer.from([...content, type]));
  return Buffer.concat([header, sealed, cipher.final(), cipher.getAuthTag()]);
}

/** A connection after its handshake, and the client's traffic secret. */
async function handshake(): Promise<[Socket, Buffer]> {
  const tcp = connectTcp(service.port, '127.0.0.1');
  const pipe = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => void tcp.write(chunk, done),
  });
  tcp.on('data', (chunk) => pipe.push(chunk)).on('error', () => undefined);
  const ciphers = 'TLS_AES_256_GCM_SHA384';
  const tls = connect({ socket: pipe, rejectUnauthorized: false, ciphers });
  tls.on('error', () => undefined);
  let secret = '';
  tls.on('keylog', (line) => {
    secret = /^CLIENT_TRAFFIC_SECRET_0 \w+ (\w+)/.exec(String(line))?.[1] ?? secret;
  });
  await once(tls, 'secureConnect');
  return [tcp, Buffer.from(secret, 'hex')];
}

it.each([
  [32, 'served'],
  [200, 'closed'],
])('after %i key updates a client is %s', async (updates, outcome) => {
  const [tcp, first] = await handshake();
  let secret = first;
  const records: Buffer[] = [];
  for (let i = 0; i < updates; i++) {
    // A KeyUpdate that asks for one in return.
    records.push(sealRecord(secret, 22, Buffer.from([24, 0, 0, 1, 1])));
    secret = expandLabel(secret, 'traffic upd', 48);
  }
  let received = 0;
  tcp.on('data', ({ length }) => (received += length));
  const closed = once(tcp, 'close').then(() => 'closed');
  tcp.write(Buffer.concat(records));
  const request = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n';
  // A connection without a request would be closed in the end, whatever it brings.
  if (outcome === 'closed') await Promise.race([closed, sleep(5_000, undefined, { ref: false })]);
  tcp.write(sealRecord(secret, 23, Buffer.from(request)));
  const served = new Promise((resolve) => {
    // Longer than the handshake's tickets and the responses to all updates together.
    tcp.on('data', () => received > 4_000 && resolve('served'));
  });
  expect(await Promise.race([closed, served])).toBe(outcome);
  tcp.destroy();
});
