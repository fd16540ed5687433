/** @engine sqlite */
import { describe, expect, it } from '@jest/globals';
import { parseDuration } from '../../src/config/env-parsers.js';
import { deployedConfig, longestStop, variablesOf } from '../support/deployment.js';
import { read } from '../support/published.js';

type Section = Readonly<Record<string, string | undefined>>;

/** The settings of a unit; of one that is given twice, both values on a line each. */
function settingsOf(path: string): Section {
  const settings: Record<string, string> = {};
  for (const [, name = '', value = ''] of read(path).matchAll(/^(\w+)=(.*)$/gm)) {
    settings[name] = name in settings ? `${settings[name]}\n${value}` : value;
  }
  return settings;
}

const UNIT = settingsOf('deploy/systemd/plant-store.service');
const FILE = variablesOf(read('deploy/systemd/plant-store.env'));
const CONFIG = deployedConfig({ ...variablesOf(UNIT['Environment'] ?? ''), ...FILE });

describe('the systemd unit', () => {
  it('starts the service as npm start does', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
    // npm's shell makes room for the service; systemd needs none.
    const start = scripts.start.replace(
      /^.* exec node /,
      '/opt/plant-store/node_modules/.bin/node ',
    );
    expect(UNIT['ExecStart']).toBe(start.replace(' dist/', ' /opt/plant-store/dist/'));
    expect(CONFIG.production).toBe(true);
  });

  it('gives it the time that it may take to stop', () => {
    expect(parseDuration(UNIT['TimeoutStopSec'] ?? '')).toBeGreaterThan(longestStop(CONFIG));
    expect(UNIT).toMatchObject({ KillSignal: 'SIGTERM', KillMode: 'mixed' });
  });

  it('is started once the service says so, and not again on a bad configuration', () => {
    // systemd-notify is a process of its own, which NotifyAccess=main would not listen to.
    expect(UNIT).toMatchObject({ Type: 'notify', NotifyAccess: 'all' });
    expect(UNIT).toMatchObject({ Restart: 'on-failure', RestartPreventExitStatus: '78' });
  });

  it('keeps the default store in its folder, as a user that sysusers makes', () => {
    expect(UNIT['WorkingDirectory']).toBe(`%S/${UNIT['StateDirectory']}`);
    expect(CONFIG.databaseUrl).toBe('sqlite:./data/plant-store.sqlite');
    expect(read('deploy/systemd/plant-store.sysusers')).toMatch(
      new RegExp(`^u ${UNIT['User']} - "Plant store" /var/lib/${UNIT['StateDirectory']}$`, 'm'),
    );
  });

  it('reads the file that it comes with', () => {
    expect(UNIT['EnvironmentFile']).toBe('-/etc/plant-store/plant-store.env');
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

  it('names both files, and only with it a reload is a SIGHUP', () => {
    // The variables of one line, each on its own.
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

  it('shares the port, and gives each process its own for health and metrics', () => {
    expect(env).toEqual({ REUSE_PORT: 'on', MANAGEMENT_PORT: '946%i' });
  });

  it('is not overruled by the file, which wins over Environment= (systemd.exec)', () => {
    expect(Object.keys(env).filter((name) => name in FILE)).toEqual([]);
  });
});

describe('the timer of backups', () => {
  const backup = settingsOf('deploy/systemd/plant-store-backup.service');

  it('starts the unit of its name every night, also after a night without power', () => {
    expect(settingsOf('deploy/systemd/plant-store-backup.timer')).toEqual({
      Description: expect.any(String),
      OnCalendar: '03:15',
      Persistent: 'true',
      WantedBy: 'timers.target',
    });
  });

  it('backs up the very store of the service, as its user', () => {
    for (const name of ['User', 'Group', 'WorkingDirectory', 'EnvironmentFile', 'UMask']) {
      expect([name, backup[name]]).toEqual([name, UNIT[name]]);
    }
    const [, folder] = backup['StateDirectory']?.split(' ') ?? [];
    expect(backup['ExecStart']).toContain(`dist/src/cli.js backup "%S/${folder}/plants-`);
    expect(backup['ExecStartPost']).toContain(`find %S/${folder} -name 'plants-*'`);
    expect(backup['ExecStartPost']).toMatch(/-mtime -2 .*\/dist\/src\/cli\.js backup --verify'$/m);
  });
});
