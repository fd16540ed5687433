/** @engine sqlite */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { blockOf } from '../support/pages.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess | undefined;
afterEach(() => service?.remove());

/** The output of bash for commands on a new service, run in the checkout. */
async function paste(commands: string) {
  service = await ServiceProcess.start();
  const text = commands
    .replaceAll(':3000/', `:${service.port}/`)
    .replaceAll('plant_…', service.token);
  const { url, folder } = service.store;
  const PORT = String(service.port);
  const env = { PATH: process.env.PATH, HOME: folder, DATABASE_URL: url, PORT };
  return promisify(execFile)('bash', ['-c', text], { env, cwd: resolve('.') });
}

describe("the README's blocks can be pasted twice", () => {
  it('Create a plant', async () => {
    const block = blockOf('README.md', 'Create a plant');
    const { stdout, stderr } = await paste(`${block}\necho\n${block}`);
    expect(stderr).not.toMatch(/denied|error|not found/i);
    const plant = { name: 'Common alder', tag: 'Alnus glutinosa' };
    expect(stdout.split('\n').map((line) => JSON.parse(line) as unknown)).toEqual([plant, plant]);
  });

  it('Tokens', async () => {
    const block = blockOf('README.md', 'Tokens');
    const { stdout } = await paste(`set -e\n${block}${block}`);
    expect(stdout.match(/^plant_\w{38}$/gm)).toHaveLength(4);
  });

  it('Import and export', async () => {
    const block = blockOf('README.md', 'Import and export');
    const { stdout } = await paste(
      `export TOKEN=plant_…\ncd && ln -s "$OLDPWD/bin" bin\n${block}${block}`,
    );
    expect(stdout).toBe('sent 1, stored 1, refused 0\n'.repeat(2));
  });
});
