import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach } from '@jest/globals';

/** The folder of a test, which its machine has too, with the service's `log`. */
export let folder: string;

/** Makes `folder` before each test, and removes it after it. */
export function makeFolder(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
}

const NAMESPACES = ['--mount', '--pid', '--fork', '--cgroup', '--ipc', '--uts', '--kill-child'];

/**
 * Runs shell commands on a machine where the service is installed. It needs Linux, systemd and root.
 *
 * @param env variables for the service, over those of its file
 * @returns what they print, and what the service logs
 */
export async function onMachine(env: Readonly<Record<string, string>>, commands: string) {
  const variables = Object.entries({ PORT: '0', MANAGEMENT_PORT: '0', ...env });
  const lines = variables.map(([name, value]) => `echo ${name}=${value} >>$file\n`).join('');
  const file = 'file=/etc/plant-store/plant-store.env\n';
  writeFileSync(join(folder, 'commands'), `${file}${lines}${commands}`);
  const machine = ['sh', 'test/systemd/machine.sh', folder];
  await promisify(execFile)('unshare', [...NAMESPACES, ...machine]);
  const log = join(folder, 'log');
  return {
    output: readFileSync(join(folder, 'output'), 'utf8'),
    log: existsSync(log) ? readFileSync(log, 'utf8') : '',
  };
}
