/** @engine sqlite */
import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { blockOf } from '../support/pages.js';
import { ServiceProcess } from '../support/service-process.js';

// test/clients runs the Python sample.
let service: ServiceProcess;
beforeAll(async () => void (service = await ServiceProcess.start()));
afterAll(() => service.remove());

/** What a program prints, with the variables of docs/api.md. */
async function run(file: string, args: readonly string[], token = service.token) {
  const BASE_URL = `http://127.0.0.1:${service.port}`;
  const PATH = [dirname(process.execPath), process.env.PATH].join(':');
  const env = { PATH, HOME: service.store.folder, BASE_URL, TOKEN: token };
  return (await promisify(execFile)(file, args, { env, cwd: service.store.folder })).stdout;
}

const curl = blockOf('docs/api.md', 'Samples', 'sh', 'curl');
const script = blockOf('docs/api.md', 'Samples', 'js');
const runScript = (token?: string) => run('node', ['--input-type=module', '-e', script], token);

it('the samples of docs/api.md store a plant, and again', async () => {
  const plant = { name: 'Common alder', tag: 'Alnus glutinosa' };
  for (let i = 0; i < 2; i++) {
    expect(JSON.parse(await run('bash', ['-c', curl]))).toEqual(plant);
    expect(await runScript()).toBe('stored: Common alder\n');
  }
  const stored = await service.store.plants();
  expect(stored.map(({ id }) => id)).toEqual([3n, 9_007_199_254_740_993n]);
});

it('the JavaScript sample prints an error', async () => {
  expect(await runScript('plant_x')).toBe('401, error 2001: invalid or expired token\n');
});
