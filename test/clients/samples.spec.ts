/** @engine sqlite */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { blockOf } from '../support/pages.js';
import { ServiceProcess } from '../support/service-process.js';

let service: ServiceProcess;
beforeAll(async () => void (service = await ServiceProcess.start()));
afterAll(() => service.remove());

async function runPython(TOKEN = service.token) {
  const env = { PATH: process.env.PATH, BASE_URL: `http://127.0.0.1:${service.port}`, TOKEN };
  const script = blockOf('docs/api.md', 'Samples', 'python');
  return (await promisify(execFile)('python3', ['-c', script], { env })).stdout;
}

it('the Python sample of docs/api.md stores a plant, and again', async () => {
  for (let i = 0; i < 2; i++) expect(await runPython()).toBe('stored: Common alder\n');
  const plant = { id: 9_007_199_254_740_995n, name: 'Common alder', tag: 'Alnus glutinosa' };
  expect(await service.store.plants()).toEqual([plant]);
});

it('the Python sample of docs/api.md prints an error', async () => {
  expect(await runPython('plant_x')).toBe('401, error 2001: invalid or expired token\n');
});
