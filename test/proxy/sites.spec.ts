/** @engine sqlite */
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { cipherNames, negotiateCiphers } from '../support/ciphers.js';
import { Client } from '../support/client.js';
import { FRAGMENT, Nginx, upstreamLine, type Place } from '../support/nginx.js';
import { serviceProcess as service, startProcess } from '../support/own.js';

startProcess();

const read = (path: string): string => readFileSync(path, 'utf8');
const PLANT = '{"id":1,"name":"oak"}';

/** Tests nginx with the files of a deployment, but for paths and ports. */
async function testSite(files: (place: Place) => Record<string, string>, isTls: boolean) {
  const nginx = await Nginx.start({ upstream: '', isTls, files });
  const port = isTls ? nginx.tlsPort : nginx.port;
  using client = new Client(port, service.token, 1, isTls);
  expect((await client.post(PLANT)).status).toBe(200);
  // A body in small chunks needs a file, which nginx can no more create than on a full disk.
  rmSync(join(nginx.folder, 'client_body'), { recursive: true });
  const address = { port, host: '127.0.0.1', rejectUnauthorized: false };
  const socket = isTls ? connect(address) : connectTcp(address);
  socket.write(`POST /plants?access_token=${service.token} HTTP/1.1\r\nhost: localhost\r\n`);
  socket.write(`transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(12_000)}`);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 503 [^]*\r\nRetry-After: 1\r\n[^]*"error":5001,/);
  await nginx.logged(/"POST \/plants" 503/);
  await nginx.stop();
  // What it wrote to stderr would fail the test: support/assert-secrecy.ts.
}

it("the guide's files serve HTTPS; what nginx fails at is 503", async () => {
  const files = ({ folder, tlsPort }: Place) => ({
    'plant-store/upstream.conf': read('deploy/nginx/upstream.conf').replace(
      ':3000',
      `:${service.port}`,
    ),
    'plant-store/server.conf': read('deploy/nginx/server.conf')
      .replace('443', `127.0.0.1:${tlsPort}`)
      .replace('/etc/ssl/plants.crt', `${folder}/cert.pem`)
      .replace('/etc/ssl/private/plants.key', `${folder}/key.pem`)
      .replace('/var/log/nginx/error.log', 'stderr')
      .replace('/var/log/nginx', folder),
  });
  await testSite(files, true);
});

it('handshakes that would take milliseconds of CPU time are refused', async () => {
  const nginx = await Nginx.start({ upstream: upstreamLine(service.port), isTls: true });
  const shake = (ecdhCurve: string) =>
    once(
      connect({ port: nginx.tlsPort, host: '127.0.0.1', rejectUnauthorized: false, ecdhCurve }),
      'secureConnect',
    );
  await shake('X25519');
  for (const curve of ['secp384r1', 'ffdhe8192'])
    await expect(shake(curve)).rejects.toMatchObject({
      code: expect.stringContaining('HANDSHAKE_FAILURE'),
    });
  await nginx.stop();
});

it.each([
  ['ec', 'ECDSA'],
  ['rsa', 'RSA'],
] as const)('TLS with a key of type %s has forward secrecy, and no CBC', async (keyType, key) => {
  const nginx = await Nginx.start({ upstream: upstreamLine(service.port), isTls: true, keyType });
  expect(await negotiateCiphers(nginx.tlsPort)).toEqual(new Set(cipherNames(key)));
  await nginx.stop();
});

it("compose's files serve HTTP; what nginx fails at is 503", async () => {
  const { configs } = parse(read('compose.yaml')) as {
    configs: Record<string, { content: string }>;
  };
  const contentOf = (name: string) => configs[name]?.content ?? '';
  const files = ({ folder, port }: Place) => ({
    'nginx.conf': contentOf('nginx')
      .replace('/tmp/nginx.pid', `${folder}/nginx.pid`)
      .replace('/dev/stderr', 'stderr')
      .replace('http {', `http { client_body_temp_path ${folder}/client_body;`)
      .replace('conf.d/plant-store.conf', FRAGMENT),
    'plant-store/server.conf': contentOf('proxy-server')
      .replace('listen 8080', `listen 127.0.0.1:${port}`)
      .replace('/dev/stdout', `${folder}/access.log`)
      .replace('/dev/stderr', 'stderr'),
    'plant-store/upstream.conf': contentOf('proxy-upstream').replace(
      'plant-store:3000',
      `127.0.0.1:${service.port}`,
    ),
  });
  await testSite(files, false);
});
