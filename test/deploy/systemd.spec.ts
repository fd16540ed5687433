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
const CONFIG = deployedConfig({ ...variablesOf(UNIT['Environment'] ?? ''), ...FILE });

describe('the systemd unit', () => {
  it('starts the service with the file that the commands read, by the same parser', () => {
    expect(UNIT['ExecStart']).toBe(`/opt/plant-store/bin/plant-store serve ${ENV_FILE}`);
    expect(UNIT).not.toHaveProperty('EnvironmentFile');
    expect(CONFIG.production).toBe(true);
  });

  it('gives the service enough time to stop', () => {
    expect(parseDuration(UNIT['TimeoutStopSec'] ?? '')).toBeGreaterThan(longestStop(CONFIG));
    expect(UNIT).toMatchObject({ KillSignal: 'SIGTERM', KillMode: 'mixed' });
  });

  it('counts as started once the service says so, and is not restarted on a bad configuration', () => {
    // systemd-notify is its own process; NotifyAccess=main would ignore it.
    expect(UNIT).toMatchObject({ Type: 'notify', NotifyAccess: 'all' });
    expect(UNIT).toMatchObject({ Restart: 'on-failure', RestartPreventExitStatus: '78' });
  });

  it('keeps the default store in its state folder, as the user of its sysusers file', () => {
    expect(UNIT['WorkingDirectory']).toBe(`%S/${UNIT['StateDirectory']}`);
    expect(CONFIG.databaseUrl).toBe('sqlite:/var/lib/plant-store/data/plant-store.sqlite');
    expect(read('deploy/systemd/plant-store.sysusers')).toMatch(
      new RegExp(`^u ${UNIT['User']} - "Plant store" /var/lib/${UNIT['StateDirectory']}$`, 'm'),
    );
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

describe('its drop-in for TLS', () => {
  const drop = settingsOf('deploy/systemd/tls.conf');

  it('names both files, and makes a reload a SIGHUP', () => {
    // The variables of one line, one by one.
    const env = variablesOf((drop['Environment'] ?? '').replaceAll(' ', '\n'));
    expect(deployedConfig({ ...FILE, ...env })).toMatchObject({
      tlsCertFile: '/etc/plant-store/tls.crt',
      tlsKeyFile: '/etc/plant-store/tls.key',
    });
    expect(drop).toMatchObject({ ExecReload: 'kill -HUP $MAINPID' });
    expect(UNIT).not.toHaveProperty('ExecReload');
  });
});

describe('its drop-in for several processes', () => {
  const drop = settingsOf('deploy/systemd/processes.conf');
  const env = variablesOf((drop['Environment'] ?? '').replaceAll(' ', '\n'));

  it('gives each process ports of its own, also those of the one unit', () => {
    expect(env).toEqual({ PORT: '300%i', MANAGEMENT_PORT: '946%i' });
    // The proxy's first line is instance 0, and the service without instances.
    expect(read('deploy/nginx/upstream.conf')).toContain('server 127.0.0.1:3000 ');
    expect(CONFIG.port).toBe(3000);
  });
});

describe('the timer of backups', () => {
  const backup = settingsOf('deploy/systemd/plant-store-backup.service');

  it('starts the unit of its name every night, or at the next boot', () => {
    expect(settingsOf('deploy/systemd/plant-store-backup.timer')).toEqual({
      Description: expect.any(String),
      OnCalendar: '03:15',
      Persistent: 'true',
      WantedBy: 'timers.target',
    });
  });

  it('mails root what systemd knows if it fails', () => {
    expect(backup['OnFailure']).toBe('plant-store-failed@%n.service');
    const { ExecStart } = settingsOf('deploy/systemd/plant-store-failed@.service');
    expect(ExecStart).toMatch(/systemctl status .*%i; \} \| sendmail root'$/);
    expect(read('deploy/systemd/install')).toContain('plant-store-failed@.service');
  });

  it('backs up the store of the service, as its user', () => {
    for (const name of ['User', 'Group', 'WorkingDirectory', 'UMask']) {
      expect([name, backup[name]]).toEqual([name, UNIT[name]]);
    }
    const [, folder] = backup['StateDirectory']?.split(' ') ?? [];
    expect(backup['ExecStart']).toContain(`${ENV_FILE} backup "%S/${folder}/plants-`);
    expect(backup['ExecStartPost']).toContain(`find %S/${folder} -name 'plants-*'`);
    expect(backup['ExecStartPost']).toMatch(/-mtime -2 .*\/bin\/plant-store backup --verify'$/m);
  });
});
