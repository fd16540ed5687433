/** @engine sqlite */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { importing, NOTHING, plants, service, startServices, variables } from './imports.js';
import { certificateIn, issueCertificate } from '../support/certificate.js';
import { runCli, spawnCli } from '../support/cli.js';
import { end, listen } from '../support/local-server.js';
import { ServiceProcess } from '../support/service-process.js';

startServices();

describe('import', () => {
  it.each([
    ['plant_x', 'error 2001: invalid or expired token'],
    ['se\ncret', 'the token has a character that no header can have: check it'],
    ['plant_…', 'the token has a character that no header can have: check it'],
  ])('stops at once if the token is invalid: %j', async (token, reason) => {
    expect(await importing(plants(500), ['--token', token])).toEqual({
      code: 1,
      stdout: NOTHING,
      stderr: `error: stopped at line 1: ${reason}\n`,
    });
  });

  it('stops when the file for refused plants is full', async () => {
    const lines = '{nope\n{"id":1}\n';
    expect(await importing(lines, ['--rejects', '/dev/full'])).toEqual({
      code: 74,
      stdout: expect.stringMatching(/refused 0\nstopped after line 0; importing again/),
      stderr: expect.stringContaining('error: stopped at line 1: /dev/full: ENOSPC'),
    });
  });

  it.each(['SIGINT', 'SIGHUP'] as const)(
    'reports at a %s how far it got, and ends by that signal',
    async (signal) => {
      const { store } = service;
      const args = ['import', '-', '--json'];
      const child = spawnCli(args, { cwd: store.folder, env: variables() });
      const ended = once(child, 'close');
      const written = Promise.all([text(child.stdout), text(child.stderr)]);
      // The pipe stays open, so the import waits for a line when the signal arrives.
      child.stdin.write(plants(300));
      while ((await store.count()) < 300) await sleep(20);
      child.kill(signal);
      expect(await ended).toEqual([null, signal]);
      const [stdout, stderr] = await written;
      const report = {
        complete: false,
        answeredLines: 300,
        sent: 300,
        stored: 300,
        refused: 0,
        notSent: 0,
      };
      expect(JSON.parse(stdout)).toEqual({ ...report, ignoredFields: {} });
      expect(stderr).toBe('');
    },
  );
});

it('ends at a signal, or once its token is refused, though a named pipe is silent', async () => {
  const fifo = join(service.store.folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const writer = openSync(fifo, 'r+');
  const run = (token: string, ...options: string[]) => {
    const url = `http://127.0.0.1:${service.port}`;
    const args = ['import', fifo, '--url', url, '--token', token, ...options];
    const child = spawnCli(args, { cwd: '.' });
    writeSync(writer, plants(1));
    return { child, ended: once(child, 'exit') };
  };
  expect(await run('x').ended).toEqual([1, null]);
  expect(await run('x', '--rejects', '/missing/rejects').ended).toEqual([74, null]);
  const { child, ended } = run(service.token);
  while ((await service.store.count()) < 1) await sleep(20);
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  closeSync(writer);
});

it('tells on a terminal how many plants are stored and refused so far', async () => {
  const fifo = join(service.store.folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const writer = openSync(fifo, 'r+');
  writeSync(writer, `${plants(2)}{nope\n`);
  const command = `exec "${process.execPath}" dist/src/cli.js import "${fifo}"`;
  const env = { PATH: process.env.PATH, ...variables() };
  const child = spawn('script', ['--quiet', '--flush', '-c', command, '/dev/null'], { env });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  // Until then it may tell of fewer.
  while (!/2 stored, 1 refused|1 stored, 2 refused/.test(printed)) await sleep(20);
  child.kill('SIGTERM');
  await once(child, 'close');
  closeSync(writer);
  expect(printed).toContain('2 stored, 1 refused');
});

it('says once without a terminal that it waits for the service', async () => {
  const args = ['import', '-', '--url', 'http://127.0.0.1:1', '--token', 'x'];
  const child = spawnCli(args, { cwd: '.' });
  child.stdin.end(plants(100));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  while (!stderr.includes('retrying')) await sleep(20);
  // All plants in flight wait by then.
  await sleep(500);
  child.kill('SIGTERM');
  await once(child, 'close');
  expect(stderr.match(/^retrying after \d s: connect ECONNREFUSED 127/gm)).toHaveLength(1);
  expect(stderr.match(/retrying/g)).toHaveLength(1);
});

describe('import over TLS', () => {
  let tls: ServiceProcess;
  beforeAll(async () => {
    tls = await ServiceProcess.start({ isTls: true });
  });
  afterAll(() => tls.remove());

  it.each([
    [
      'a certificate',
      () => tls,
      /self-signed certificate; to trust it, set NODE_EXTRA_CA_CERTS in /,
    ],
    ['HTTP', () => service, /the service speaks HTTP, not HTTPS: check --url\n$/],
  ])('reports at once what is wrong with %s', async (_what, to, reason) => {
    const url = `https://127.0.0.1:${to().port}`;
    expect(await importing(plants(100), ['--url', url])).toEqual({
      code: 1,
      stdout: NOTHING,
      stderr: expect.stringMatching(new RegExp(`^error: stopped at line 1: .*${reason.source}`)),
    });
  });

  it('goes without --url where the service of the configuration listens', async () => {
    const { store } = tls;
    const certificate = certificateIn(store.folder);
    const env = {
      PORT: String(tls.port),
      HOST: '0.0.0.0',
      ...certificate,
      NODE_EXTRA_CA_CERTS: certificate.TLS_CERT_FILE,
      PLANT_STORE_TOKEN: tls.token,
    };
    expect(await runCli(['import', '-'], { cwd: store.folder, env, input: plants(9) })).toEqual({
      code: 0,
      stdout: 'sent 9, stored 9, refused 0\n',
      stderr: '',
    });
  });

  it('asks for a name of the certificate, if that does not have the address', async () => {
    const cwd = join(tls.store.folder, 'other');
    mkdirSync(cwd);
    const certificate = await issueCertificate(cwd, 'plants.example');
    const [cert, key] = Object.values(certificate).map((file) => readFileSync(file));
    const other = createServer({ cert, key });
    const env = {
      PORT: String(await listen(other)),
      ...certificate,
      NODE_EXTRA_CA_CERTS: certificate.TLS_CERT_FILE,
      PLANT_STORE_TOKEN: 'x',
    };
    const { code, stderr } = await runCli(['import', '-'], { cwd, env, input: plants(9) });
    await end(other);
    expect(code).toBe(1);
    expect(stderr).toMatch(/127\.0\.0\.1 .*; name the host by --url as the certificate does\n$/);
  });
});

it('an import survives a restart of a killed service', async () => {
  const first = await ServiceProcess.start();
  const { store, token, port } = first;
  const env = { PLANT_STORE_URL: `http://127.0.0.1:${port}`, PLANT_STORE_TOKEN: token };
  const input = plants(10_000);
  const ran = runCli(['import', '-'], { cwd: store.folder, env, input });
  while ((await store.count()) < 500) await sleep(20);
  await first.kill();
  expect(await store.count()).toBeLessThan(10_000);
  const second = await ServiceProcess.start({ store, token, env: { PORT: String(port) } });
  try {
    expect(await ran).toMatchObject({ code: 0, stdout: 'sent 10000, stored 10000, refused 0\n' });
    expect(await store.count()).toBe(10_000);
  } finally {
    await second.remove();
  }
});
