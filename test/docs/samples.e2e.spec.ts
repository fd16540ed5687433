/** @engine sqlite */
import { execFile } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { serviceProcess as service, startProcess } from '../support/own.js';
import { blockOf } from '../support/published.js';

startProcess();
beforeEach(() => service.store.execute('DELETE FROM plants'));

const PLANT = { name: 'Common alder', tag: 'Alnus glutinosa' };

/** Runs a program with the variables that the pages name. */
async function run(file: string, args: readonly string[], more: object = {}, cwd = '.') {
  const { port, store, token } = service;
  const PATH = [dirname(process.execPath), process.env.PATH].join(':');
  const BASE_URL = `http://127.0.0.1:${port}`;
  const own = { PATH, HOME: store.folder, DATABASE_URL: store.url, PORT: `${port}` };
  const env = { ...own, BASE_URL, TOKEN: token, ...more };
  return promisify(execFile)(file, args, { env, cwd: resolve(cwd) });
}

/** Runs commands in bash, in the checkout. */
const paste = (commands: string) => {
  const { port, token } = service;
  return run('bash', [
    '-c',
    commands.replaceAll(':3000/', `:${port}/`).replaceAll('plant_...', token),
  ]);
};

describe("the README's blocks can be pasted twice", () => {
  it('Create a plant', async () => {
    const block = blockOf('README.md', 'Create a plant');
    const { stdout, stderr } = await paste(`${block}\necho\n${block}`);
    expect(stderr).not.toMatch(/denied|error|not found/i);
    expect(stdout.split('\n').map((line) => JSON.parse(line) as unknown)).toEqual([PLANT, PLANT]);
  });

  it('Tokens', async () => {
    const block = blockOf('README.md', 'Tokens');
    const { stdout } = await paste(`set -e\n${block}${block}`);
    expect(stdout.match(/^plant_\w{38}$/gm)).toHaveLength(4);
  });

  it('Import and export', async () => {
    const block = blockOf('README.md', 'Import and export');
    const { stdout } = await paste(
      `export TOKEN=plant_...\ncd && ln -s "$OLDPWD/bin" bin\n${block}${block}`,
    );
    expect(stdout).toBe('sent 1, stored 1, refused 0\n'.repeat(2));
  });
});

// test/clients runs the Python sample.
describe('the samples of docs/api.md', () => {
  const curl = blockOf('docs/api.md', 'Samples', 'sh', 'curl');
  const script = blockOf('docs/api.md', 'Samples', 'js');
  const node = (env = {}) =>
    run('node', ['--input-type=module', '-e', script], env, service.store.folder);

  it('store a plant, and again', async () => {
    for (let i = 0; i < 2; i++) {
      expect(JSON.parse((await run('bash', ['-c', curl])).stdout)).toEqual(PLANT);
      expect((await node()).stdout).toBe('stored: Common alder\n');
    }
    const stored = await service.store.plants();
    expect(stored.map(({ id }) => id)).toEqual([3n, 9_007_199_254_740_993n]);
  });

  it('print an error', async () => {
    const { stdout } = await node({ TOKEN: 'plant_x' });
    expect(stdout).toBe('401, error 2001: invalid or expired token\n');
  });
});
