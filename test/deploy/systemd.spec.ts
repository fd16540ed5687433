/** @engine sqlite */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { VERSION } from '../../src/config/config.js';
import { parseDuration } from '../../src/config/parsers.js';
import { deployedConfig, longestStop, variablesOf } from '../support/deployment.js';
import { makeStore, store } from '../support/own.js';
import { read } from '../support/published.js';

makeStore();

/** The settings of a unit. The values of a repeated setting are joined by line ends. */
function settingsOf(path: string): Readonly<Record<string, string | undefined>> {
  const settings = Map.groupBy(read(path).matchAll(/^(\w+)=(.*)$/gm), ([, name = '']) => name);
  return Object.fromEntries(
    [...settings].map(([name, all]) => [name, all.map(([, , value]) => value).join('\n')]),
  );
}

const ENV_FILE = '--env-file /etc/plant-store/plant-store.env';
const UNIT = settingsOf('deploy/systemd/plant-store.service');
const FILE = variablesOf(read('deploy/systemd/plant-store.env'));
const CONFIG = deployedConfig({ ...FILE, ...variablesOf(UNIT['Environment'] ?? '') });

// test/systemd has the start, the stop and the failures on a real systemd.
it('the unit gives the service enough time to stop', () => {
  expect(parseDuration(UNIT['TimeoutStopSec'] ?? '')).toBeGreaterThan(longestStop(CONFIG));
});

it('its drop-in for several processes has the port of the one unit for the first, as nginx has', () => {
  const { Environment = '' } = settingsOf('deploy/systemd/processes.conf');
  const first = variablesOf(Environment.replaceAll(' ', '\n').replaceAll('%i', '0'));
  expect(first['PORT']).toBe(`${CONFIG.port}`);
  expect(read('deploy/nginx/upstream.conf')).toContain(`server 127.0.0.1:${CONFIG.port} `);
});

it('the unit of backups copies the store of the service, as its user, and as confined', () => {
  const path = 'deploy/systemd/plant-store-backup.service';
  const backup = settingsOf(path);
  const confined = /^NoNewPrivileges=(\S+\s)+/m.exec(read(path))?.[0];
  expect(read('deploy/systemd/plant-store.service')).toContain(`${confined}\n[Install]`);
  for (const name of ['User', 'Group', 'WorkingDirectory', 'UMask'])
    expect([name, backup[name]]).toEqual([name, UNIT[name]]);
  const [, folder] = backup['StateDirectory']?.split(' ') ?? [];
  expect(backup['ExecStart']).toContain(`${ENV_FILE} backup "%S/${folder}/plants-`);
  expect(backup['ExecStartPost']).toContain(`find %S/${folder} -name 'plants-*'`);
});

it('the installation has the program and the documents that its messages name', () => {
  const checkout = join(store.folder, `plant-store-${VERSION}`);
  for (const path of ['bin', 'deploy', 'docs', 'package.json'])
    cpSync(path, join(checkout, path), { recursive: true });
  for (const path of ['dist/src', 'node_modules'])
    mkdirSync(join(checkout, path), { recursive: true });
  const root = join(store.folder, 'root');
  const install = (folder: string) =>
    execFileSync(join(folder, 'deploy/systemd/install'), {
      env: { ...process.env, DESTDIR: root },
      stdio: 'pipe',
    });
  const misnamed = join(store.folder, 'plant-store-0.0.0');
  symlinkSync(checkout, join(store.folder, 'plant-store'));
  cpSync(checkout, misnamed, { recursive: true });
  expect(() => install(misnamed)).toThrow(
    `error: this folder has plant-store-${VERSION}: check out`,
  );
  install(join(store.folder, 'plant-store'));
  const installed = join(root, `opt/plant-store-${VERSION}`);
  expect(readdirSync(installed)).toEqual(['bin', 'dist', 'docs', 'node_modules', 'package.json']);
  expect(readdirSync(join(installed, 'docs'))).toEqual(readdirSync('docs'));
});

it('cron mails what the commands print to stderr, as it is', () => {
  const commands = read('deploy/systemd/plant-store.cron').matchAll(/^\d.* root (.*)$/gm);
  expect([...commands].map(([, command]) => command)).toEqual([
    'plant-store token list >/dev/null',
    'plant-store check >/dev/null',
  ]);
});
