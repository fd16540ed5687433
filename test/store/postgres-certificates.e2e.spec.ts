/** @engine postgres */
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { certificateIn, encryptServer, issueCertificate } from '../support/certificate.js';
import type { Client } from '../support/client.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresStore } from '../support/postgres-store.js';
import { ServiceProcess } from '../support/service-process.js';
import { startHere } from '../support/start-here.js';

const UNAVAILABLE = { status: 503, body: { error: 5001, message: 'the store is unavailable' } };

let server: PostgresServer;
let store: PostgresStore;
let service: ServiceProcess;
let client: Client;
let files: Record<'sslrootcert' | 'sslcert' | 'sslkey', string>;
let url: string;
beforeAll(async () => {
  server = await PostgresServer.start();
  store = await PostgresStore.create(server.url());
  const sslrootcert = await encryptServer(server, store);
  const notAfterDate = new Date(Date.now() + 13 * 86_400_000);
  await issueCertificate(store.folder, 'client', { notAfterDate });
  const { TLS_CERT_FILE: sslcert, TLS_KEY_FILE: sslkey } = certificateIn(store.folder);
  files = { sslrootcert, sslcert, sslkey };
  const search = new URLSearchParams({ sslmode: 'verify-full', ...files });
  url = `${store.url.replace('127.0.0.1', 'localhost')}?${search.toString()}`;
  const env = { DATABASE_URL: url, DATABASE_TIMEOUT: '2s', MANAGEMENT_PORT: '0' };
  service = await ServiceProcess.start({ store, env });
  client = service.client();
});
afterAll(async () => {
  await service.remove();
  await server.remove();
});

function halve(file: string): void {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.slice(0, text.length / 2));
}

function makeFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}

/** Takes the key of the server's certificate. */
function exchangeKey(file: string): void {
  copyFileSync(files.sslrootcert.replace('cert.pem', 'key.pem'), file);
}

/** Waits until the service is not ready for this reason: creates that fail first know another. */
async function notReady(reason: RegExp): Promise<void> {
  const { details } = await service.monitor.until(503, 'store');
  if (reason.test(String(details.store?.message))) return;
  await sleep(50);
  await notReady(reason);
}

let next = 1n;

it.each<[keyof typeof files, string, (file: string) => void, RegExp]>([
  ['sslrootcert', 'missing', (file) => rmSync(file), /ENOENT: .*cert\.pem'/],
  ['sslrootcert', 'empty', (file) => writeFileSync(file, ''), /PEM is .*cert\.pem: /],
  ['sslrootcert', 'half-written', halve, /PEM is .*cert\.pem: /],
  ['sslcert', 'a folder', makeFolder, /EISDIR/],
  ['sslcert', 'half-written', halve, /PEM is .*cert\.pem with the key .*key\.pem: /],
  ['sslkey', 'missing', (file) => rmSync(file), /ENOENT: .*key\.pem'/],
  ['sslkey', 'of another certificate', exchangeKey, /key\.pem: .*key values mismatch/],
])('while %s is %s: 503, not ready, and why', async (name, _what, spoil, reason) => {
  const file = files[name];
  renameSync(file, `${file}.right`);
  copyFileSync(`${file}.right`, file);
  spoil(file);
  // More creates than sessions: some wait for a session while the old ones end.
  const creates = Array.from({ length: 64 }, () => client.create({ id: next++, name: 'oak' }));
  await store.execute('SELECT pg_terminate_backend(pid) FROM pg_stat_ssl WHERE ssl');
  for (const { status } of await Promise.all(creates)) expect([200, 503]).toContain(status);
  await notReady(reason);
  expect(await client.create({ id: next++, name: 'oak' })).toMatchObject(UNAVAILABLE);
  rmSync(file, { recursive: true, force: true });
  renameSync(`${file}.right`, file);
  await service.monitor.until(200);
  expect((await client.create({ id: next++, name: 'oak' })).status).toBe(200);
});

it('a start warns that the one of the service expires soon', async () => {
  const warning = / WARN: .*\(sslcert\) expires 20\S+Z: replace the file, which new sessions read/;
  while (!warning.test(service.output)) await sleep(20);
});

it('a start that cannot read it, and does not need it, says so and announces the service', async () => {
  const address = store.url.replace('127.0.0.1', 'localhost');
  const DATABASE_URL = `${address}?sslmode=disable&sslcert=${encodeURIComponent('/dev/null')}`;
  const other = await ServiceProcess.start({ store, token: 'none', env: { DATABASE_URL } });
  await other.stop();
  expect(other.output).toMatch(/ WARN: .*\(sslcert\) cannot be read: \S/);
});

it('a start without one is refused', async () => {
  const missing = url.replace('key.pem', 'none.pem');
  const { code, stderr } = await startHere(missing);
  expect({ code, stderr }).toEqual({
    code: 78,
    stderr: expect.stringMatching(
      /^error: Invalid configuration: DATABASE_URL: ENOENT: .*none\.pem'[^\n]*\n$/,
    ),
  });
});

it('a start between the installs of key and certificate is refused, with a code for which systemd starts it again', async () => {
  const other = url.replace(
    encodeURIComponent(files.sslkey),
    encodeURIComponent(files.sslrootcert.replace('cert.pem', 'key.pem')),
  );
  const { code, stderr } = await startHere(other);
  const what =
    /^error: DATABASE_URL: [^\n]* no certificate in PEM is .*cert\.pem with the key .*key\.pem: .*key values mismatch\n$/;
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(what) });
});
