/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { parseDuration } from '../../src/config/parsers.js';
import { deployedConfig, longestStop, variablesOf } from '../support/deployment.js';
import { read } from '../support/published.js';

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

describe('the systemd unit', () => {
  // test/systemd has the start and the failures on a real systemd.
  it('runs in production, is not restarted on a bad configuration, and has enough time to stop', () => {
    // Not by EnvironmentFile=, whose rules are others than those of the commands.
    expect(UNIT['ExecStart']).toBe(`/opt/plant-store/bin/plant-store serve ${ENV_FILE}`);
    expect(UNIT).not.toHaveProperty('EnvironmentFile');
    expect(CONFIG.production).toBe(true);
    expect(UNIT).toMatchObject({ Restart: 'on-failure', RestartPreventExitStatus: '78' });
    expect(parseDuration(UNIT['TimeoutStopSec'] ?? '')).toBeGreaterThan(longestStop(CONFIG));
    expect(UNIT).toMatchObject({ KillSignal: 'SIGTERM', KillMode: 'mixed' });
  });

  it('lets V8 write machine code, and little else', () => {
    expect(UNIT).not.toHaveProperty('MemoryDenyWriteExecute');
    expect(UNIT).toMatchObject({
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      ProtectSystem: 'strict',
      SystemCallFilter: '@system-service\n~@privileged @resources',
    });
  });
});

/** The variables of a drop-in, which has them in one line. */
const variablesIn = (drop: ReturnType<typeof settingsOf>) =>
  variablesOf((drop['Environment'] ?? '').replaceAll(' ', '\n'));

it('its drop-in for TLS makes a reload a SIGHUP; the commands know the files too', () => {
  const drop = settingsOf('deploy/systemd/tls.conf');
  expect(drop).not.toHaveProperty('Environment');
  expect(drop).toMatchObject({ ExecReload: 'kill -HUP $MAINPID' });
  expect(UNIT).not.toHaveProperty('ExecReload');
});

it('its drop-in for several processes gives each ports of its own, also those of the one unit', () => {
  const env = variablesIn(settingsOf('deploy/systemd/processes.conf'));
  expect(env).toEqual({ PORT: '300%i', MANAGEMENT_PORT: '946%i' });
  // The proxy's first line is instance 0, and the service without instances.
  expect(read('deploy/nginx/upstream.conf')).toContain('server 127.0.0.1:3000 ');
  expect(CONFIG.port).toBe(3000);
});

it('the unit of backups copies the store of the service, as its user', () => {
  const backup = settingsOf('deploy/systemd/plant-store-backup.service');
  for (const name of ['User', 'Group', 'WorkingDirectory', 'UMask'])
    expect([name, backup[name]]).toEqual([name, UNIT[name]]);
  const [, folder] = backup['StateDirectory']?.split(' ') ?? [];
  expect(backup['ExecStart']).toContain(`${ENV_FILE} backup "%S/${folder}/plants-`);
  expect(backup['ExecStartPost']).toContain(`find %S/${folder} -name 'plants-*'`);
  expect(backup['ExecStartPost']).toMatch(/-mtime -2 .*\/bin\/plant-store backup --verify'$/m);
});
