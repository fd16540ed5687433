/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { folder, makeFolder, onMachine } from '../support/machine.js';
import { blockOf } from '../support/published.js';

// The unit on a real systemd.
makeFolder();

const SHOW = 'systemctl show plant-store -p SubState,Result,ExecMainStatus\n';

it('systemctl start returns when the service serves; stop ends it cleanly', async () => {
  const { output, log } = await onMachine(
    {},
    `systemctl start plant-store; echo "start: $?"
    curl -s -X POST $(grep -o 'http://127[.0-9:]*' ${folder}/log | tail -n 1)/plants; echo
    stat -c '%a' /var/lib/plant-store/data /var/lib/plant-store/data/plant-store.sqlite
    systemctl stop plant-store; echo "stop: $?"
    ${SHOW}`,
  );
  expect(output.trimEnd().split('\n')).toEqual([
    'start: 0',
    '{"error":2000,"message":"no bearer token: send `Authorization: Bearer TOKEN`"}',
    '700',
    '600',
    'stop: 0',
    'Result=success',
    'ExecMainStatus=0',
    'SubState=dead',
  ]);
  expect(log.match(/SIGTERM: stopping|\bstopped\b/g)).toEqual(['SIGTERM: stopping', 'stopped']);
  expect(log).not.toContain('systemd was not told');
});

it('systemctl start fails with a bad configuration, and restarts nothing (exit code 78)', async () => {
  // A restart would have happened by then.
  const drop = '/etc/systemd/system/plant-store.service.d/bad.conf';
  const { output, log } = await onMachine(
    { RATE_LIMIT: 'much' },
    `printf '[Service]\\nRestartSec=100ms\\n' >${drop}
    systemctl daemon-reload
    systemctl start plant-store; echo "start: $?"; sleep 2
    systemctl show plant-store -p NRestarts,SubState,ExecMainStatus`,
  );
  expect(output).toMatch(/^start: 1\nNRestarts=0\nExecMainStatus=78\nSubState=failed\n$/m);
  expect(log).toContain('Invalid configuration: RATE_LIMIT must be ');
});

it('says what a port below 1024 needs', async () => {
  // A network of its own, where the limit is that of Linux.
  const drop = '/etc/systemd/system/plant-store.service.d/network.conf';
  const { log } = await onMachine(
    { PORT: '443' },
    `printf '[Service]\\nPrivateNetwork=yes\\n' >${drop}
    systemctl daemon-reload; systemctl start plant-store`,
  );
  expect(log).toContain(
    'listen EACCES: permission denied 127.0.0.1:443 for user plant-store: ' +
      'set another PORT or HOST, or permit it (docs/operating.md#tls)',
  );
});

it('backs up and verifies a store beside the service, as confined as it is', async () => {
  const { output } = await onMachine(
    {},
    `mkdir /etc/systemd/system/plant-store-backup.service.d
    printf '[Unit]\\nDefaultDependencies=no\\n' >/etc/systemd/system/plant-store-backup.service.d/test.conf
    systemctl daemon-reload
    systemctl start plant-store && systemctl start plant-store-backup; echo "start: $?"
    systemctl show plant-store-backup -p Result
    systemctl show plant-store -p SubState
    find /var/lib/plant-store-backups -name 'plants-*.sqlite' -printf '%m %u\n'
    for unit in plant-store plant-store-backup; do
      systemd-analyze security --threshold=15 $unit.service >/dev/null; echo "$unit: $?"
    done`,
  );
  expect(output.trimEnd().split('\n')).toEqual([
    'start: 0',
    'Result=success',
    'SubState=running',
    '600 plant-store',
    'plant-store: 0',
    'plant-store-backup: 0',
  ]);
});

it('runs commands by the PATH of cron', async () => {
  const { output } = await onMachine(
    {},
    'env -i PATH=/usr/bin:/bin /usr/local/sbin/plant-store config >/dev/null; echo "config: $?"\n',
  );
  expect(output).toMatch(/^config: 0$/m);
});

it('mails root that a backup has failed', async () => {
  const plain = '[Unit]\\nDefaultDependencies=no\\n';
  const { output } = await onMachine(
    {},
    `for unit in plant-store-backup.service plant-store-failed@.service; do
      mkdir /etc/systemd/system/$unit.d; printf '${plain}' >/etc/systemd/system/$unit.d/test.conf
    done
    printf '#!/bin/sh\\ncat >${folder}/sent && mv ${folder}/sent ${folder}/mail\\n' >/usr/sbin/sendmail
    chmod 755 /usr/sbin/sendmail; systemctl daemon-reload
    systemctl start plant-store-backup; echo "backup: $?"
    until [ -e ${folder}/mail ]; do sleep 0.1; done; cat ${folder}/mail`,
  );
  expect(output).toMatch(/^backup: 1$/m);
  expect(output).toMatch(/^Subject: plant-store-backup.service failed on /m);
  expect(output).toContain('code=exited');
});

it('restores a damaged store by the lines of docs/operating.md', async () => {
  const { output } = await onMachine(
    {},
    `create() {
      curl -s -o ${folder}/response -w '%{http_code}\\n' -d "{\\"id\\": $1, \\"name\\": \\"alder\\"}" \\
        -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \\
        $(grep -o 'http://127[.0-9:]*' ${folder}/log | tail -n 1)/plants
    }
    systemctl start plant-store; token=$(plant-store token create nursery 2>/dev/null)
    create 1; install -d -o plant-store /var/lib/plant-store-backups
    plant-store backup /var/lib/plant-store-backups/plants-1.sqlite >/dev/null 2>&1
    create 2; systemctl kill -s KILL plant-store
    printf damage | dd of=/var/lib/plant-store/data/plant-store.sqlite bs=4096 seek=1 conv=notrunc 2>/dev/null
    ${blockOf('docs/operating.md', 'Restore', 'sh', 'mktemp')}
    create 3; plant-store export 2>/dev/null; cd /var/lib/plant-store/replaced-*; ls
    plant-store backup /var/lib/plant-store/next.sqlite 2>/dev/null`,
  );
  expect(output).toContain(
    'no damage found\n200\n{"id":1,"name":"alder"}\n{"id":3,"name":"alder"}\n',
  );
  expect(output).toContain('plant-store.sqlite-wal\n');
  expect(output).toMatch(/^plants: 2, sha256/m);
});
