/** @engine sqlite */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ServiceProcess } from '../support/service-process.js';
import { CLIENTS } from './recipes.js';

// Not part of `npm test`, as it installs generators: `npm run test:clients`.
const SOURCES = resolve('test/clients');

let service: ServiceProcess;
let root: string;
beforeAll(async () => {
  service = await ServiceProcess.start();
  root = mkdtempSync(join(tmpdir(), 'plant-clients-'));
});
afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await service.remove();
});

/** Runs the lines of a recipe in its folder, each in a shell, with this Node.js. Returns the last one's output. */
async function follow(lines: readonly string[], cwd: string): Promise<string> {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const BASE_URL = `http://127.0.0.1:${service.port}`;
  const env = { ...process.env, PATH, BASE_URL, TOKEN: service.token, PACKAGE: resolve('.') };
  let printed = '';
  for (const line of lines) {
    const command = promisify(execFile)('sh', ['-euc', line], { cwd, env, maxBuffer: 2 ** 26 });
    printed = (await command).stdout;
  }
  return printed;
}

it.each(Object.entries(CLIENTS))(
  '%s: sends the greatest int64 exactly, and has a typed error',
  async (name, lines) => {
    const folder = join(root, name);
    cpSync(join(SOURCES, name), folder, { recursive: true });
    for (const file of [join(SOURCES, 'json.ts'), resolve('openapi.json')]) {
      cpSync(file, join(folder, file.slice(dirname(file).length)));
    }
    expect(existsSync(join(folder, 'openapi.json'))).toBe(true);
    await service.store.execute('DELETE FROM plants');
    expect(await follow(lines, folder)).toBe('Alder\n400 1004\n');
    expect(await service.store.plants()).toEqual([
      { id: 2n ** 63n - 1n, name: 'Alder', tag: 'Alnus' },
    ]);
  },
  600_000,
);
