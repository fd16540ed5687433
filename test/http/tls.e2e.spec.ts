/** @engine sqlite */
import { once } from 'node:events';
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { generate } from 'selfsigned';
import { certificateIn, issueCertificate } from '../support/certificate.js';
import { cipherNames, negotiateCiphers } from '../support/ciphers.js';
import { Client } from '../support/client.js';
import { runHere } from '../support/cli.js';
import { makeStore, store } from '../support/own.js';
import type { Sent } from '../support/received.js';
import { runMain, ServiceProcess, spawnMain } from '../support/service-process.js';

let service: ServiceProcess | undefined;
makeStore(async () => {
  await service?.kill();
  service = undefined;
});

const env = () => certificateIn(store.folder);
const cert = () => env().TLS_CERT_FILE;
const key = () => env().TLS_KEY_FILE;

const issue = (name: string) => issueCertificate(store.folder, name);

/** The name in the service's certificate. */
async function certified(port: number): Promise<string> {
  const socket = connect({ port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** Sends a request. Checks that the response has HSTS. */
async function send({ port, token }: ServiceProcess, request: Sent) {
  using client = new Client(port, token, 1, true);
  const response = await client.send(request);
  expect(response.headers['strict-transport-security']).toBe('max-age=31536000');
  return response;
}

describe('TLS', () => {
  it('a client that waits for each response is never taken for one that pipelines; none may renegotiate', async () => {
    await issue('localhost');
    service = await ServiceProcess.start({ store, env: env() });
    const body = `{"id":"","name":"${'n'.repeat(60_000)}"}`;
    using client = new Client(service.port, service.token, 1, true);
    for (let i = 0; i < 200; i++) expect((await client.send({ body })).status).toBe(400);

    const { port } = service;
    const socket = connect({ port, rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
    await once(socket, 'secureConnect');
    const outcome = new Promise((resolve) => {
      socket.on('error', resolve);
      socket.renegotiate({ rejectUnauthorized: false }, resolve);
    });
    expect(await outcome).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
    socket.destroy();
  });

  it('serves HTTPS only; SIGHUP reloads the certificate', async () => {
    await issue('first');
    service = await ServiceProcess.start({ store, env: env() });
    expect(service.printed).toContain(`Plant store: https://127.0.0.1:${service.port}/plants`);
    const plant = { body: '{"id":1,"name":"n"}' };
    expect(await send(service, plant)).toMatchObject({ status: 200, text: '{"name":"n"}' });
    await expect(service.client().create({ id: 2n, name: 'n' })).rejects.toThrow();
    expect(await certified(service.port)).toBe('first');
    expect((await send(service, { path: '/nope' })).status).toBe(404);
    expect((await send(service, { method: 'GET', path: '/openapi.json' })).status).toBe(200);

    await issue('second');
    service.signal('SIGHUP');
    while ((await certified(service.port)) !== 'second') await sleep(20);
    expect((await send(service, plant)).status).toBe(200);

    // A bad pair does not replace the good one.
    cpSync(cert(), key());
    service.signal('SIGHUP');
    while (!service.output.includes('certificate not reloaded')) await sleep(20);
    expect(await certified(service.port)).toBe('second');
    expect((await store.plants()).map(({ id }) => id)).toEqual([1n]);
  });

  it('has forward secrecy and no CBC, also after a SIGHUP', async () => {
    await issue('first');
    service = await ServiceProcess.start({ store, env: env() });
    expect(await negotiateCiphers(service.port)).toEqual(new Set(cipherNames('ECDSA')));
    await issueCertificate(store.folder, 'second', { keyType: 'rsa' });
    service.signal('SIGHUP');
    while ((await certified(service.port)) !== 'second') await sleep(20);
    expect(await negotiateCiphers(service.port)).toEqual(new Set(cipherNames('RSA')));
  });

  it('a SIGHUP before it listens does not end the start, and reloads the certificate then', async () => {
    await issue('localhost');
    const child = spawnMain(store, env());
    const ended = once(child, 'exit');
    let output = '';
    const wait = async (line: string) => {
      while (!output.includes(line)) output += String(await once(child.stdout, 'data'));
    };
    await wait('plant-store ');
    child.kill('SIGHUP');
    await wait('certificate reloaded');
    await wait('Plant store: https://');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  it.each<[string, () => unknown, string, number]>([
    ['no key', () => rmSync(key()), 'TLS_KEY_FILE must be a readable file in UTF-8: ', 78],
    [
      'the key of another certificate',
      async () => {
        const first = readFileSync(cert());
        await issue('other');
        writeFileSync(cert(), first);
      },
      '(the key is not that of the certificate)',
      // systemd starts it again, as the certificate may come next.
      1,
    ],
    [
      'a key that is too small for TLS',
      async () => {
        const pair = await generate(undefined, { keySize: 1024 });
        writeFileSync(cert(), pair.cert);
        writeFileSync(key(), pair.private);
      },
      '(ee key too small)',
      1,
    ],
    [
      'a damaged certificate in the chain',
      () =>
        appendFileSync(cert(), '\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'),
      '(wrong tag)',
      1,
    ],
    ['empty files', () => [cert(), key()].map((path) => writeFileSync(path, '')), 'in PEM', 1],
  ])(
    'is refused by `config`, which reads the pair as a start does: %s',
    async (_case, spoil, problem, exit) => {
      await issue('plants');
      await spoil();
      const { code, stderr } = await runHere(['config'], { cwd: store.folder, env: env() });
      expect({ code, stderr }).toEqual({ code: exit, stderr: expect.stringContaining(problem) });
    },
  );

  it('stops the start: two certificates', async () => {
    await issue('plants');
    cpSync(cert(), key());
    const { code, stderr } = await runMain(store, env());
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('must be a pair: '),
    });
  });
});
