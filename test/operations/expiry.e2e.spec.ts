/** @engine sqlite */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { issueCertificate } from '../support/certificate.js';
import { cli, makeStore, store } from '../support/own.js';
import { ServiceProcess } from '../support/service-process.js';

const TOKEN = 'plant_store_token_expires_seconds';
const CERTIFICATE = 'plant_store_tls_certificate_expires_seconds';
const DAY_MS = 86_400_000;

let service: ServiceProcess;
makeStore(() => service.kill());

async function start(more: Readonly<Record<string, string>> = {}): Promise<void> {
  const env = { MANAGEMENT_PORT: '0', NODE_ENV: 'production', ...more };
  service = await ServiceProcess.start({ store, token: 'none', env });
}

/** In how many days what a metric tells of expires, to a tenth; undefined if it tells of nothing. */
async function daysLeft(name: string): Promise<number | undefined> {
  const seconds = (await service.monitor.metrics()).get(name);
  return seconds && Number(((seconds * 1_000 - Date.now()) / DAY_MS).toFixed(1));
}

it('the first token without a successor that expires is in the metrics, and the start tells how many expire soon', async () => {
  await start();
  expect(await daysLeft(TOKEN)).toBeUndefined();
  expect(await daysLeft(CERTIFICATE)).toBeUndefined();
  for (const line of ['nursery --expires 10d', 'orchard --expires 60d', 'garden'])
    await cli(`token create ${line}`);
  expect(await daysLeft(TOKEN)).toBe(10);
  expect(service.output).not.toContain('expire');
  await service.kill();

  const others = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of others) await cli(`token create ${name} --expires 11d`);
  await start();
  while (!service.output.includes('expire soon')) await sleep(20);
  expect(service.output).toMatch(
    /"context":"Tokens","msg":"tokens that expire soon: 7; run \S+ token list"/,
  );
  for (const name of others) await cli(`token revoke ${name}`);
  await cli('token rotate nursery --expires 90d --overlap 1d');
  expect(await daysLeft(TOKEN)).toBe(60);
  await cli('token revoke orchard');
  expect(await daysLeft(TOKEN)).toBe(90);
  await cli('token revoke nursery');
  expect(await daysLeft(TOKEN)).toBeUndefined();
});

it('the certificate in use is in the metrics and in the log, at the start and after a reload', async () => {
  const issue = (days: number) =>
    issueCertificate(store.folder, 'plants', {
      notAfterDate: new Date(Date.now() + days * DAY_MS),
    });
  const logged = () => {
    const line =
      /"level":"(\w+)".*"the certificate of TLS_CERT_FILE expires 20[-\d]+T[\d:.]+Z(.*)"/g;
    return Array.from(service.output.matchAll(line), ([, level, cure]) => `${level}${cure}`);
  };
  await start(await issue(10));
  expect(await daysLeft(CERTIFICATE)).toBe(10);
  const warning = 'warn: renew it, then `systemctl reload plant-store` (SIGHUP)';
  expect(logged()).toEqual([warning]);

  await issue(40);
  expect(await daysLeft(CERTIFICATE)).toBe(10);
  service.signal('SIGHUP');
  while ((await daysLeft(CERTIFICATE)) !== 40) await sleep(20);
  expect(service.output).toContain('"certificate reloaded"');
  expect(logged()).toEqual([warning, 'info']);
});
