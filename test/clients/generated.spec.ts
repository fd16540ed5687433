/** @engine sqlite */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS } from '../../src/errors/error-codes.js';
import { ServiceProcess } from '../support/service-process.js';
import { Overloaded } from './overloaded.js';
import { CLIENTS } from './recipes.js';

// Not part of `npm test`, as it installs generators: `npm run test:clients`.
const SOURCES = resolve('test/clients');
const TIMEOUT_MS = 600_000;
const NAMES = Object.keys(CLIENTS);
const { ID_TAKEN, INVALID_TOKEN } = ERRORS;

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

type Variables = Readonly<Record<'BASE_URL' | 'TOKEN', string>>;

/** Runs a line of a recipe in the folder of a client, in a shell with this Node.js. */
async function shell(name: string, line: string, variables: Partial<Variables> = {}) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH, ...variables };
  const options = { cwd: join(root, name), env, maxBuffer: 2 ** 26 };
  return promisify(execFile)('sh', ['-euc', line], options);
}

/** What a client prints. */
async function run(name: string, variables: Partial<Variables> = {}): Promise<string> {
  const BASE_URL = `http://127.0.0.1:${service.port}`;
  const all = { BASE_URL, TOKEN: service.token, ...variables };
  return (await shell(name, CLIENTS[name]?.run ?? '', all)).stdout;
}

const PRINTED = `Alder\n400 ${ID_TAKEN.error}: ${ID_TAKEN.message}\n`;

it.each(Object.entries(CLIENTS))(
  '%s can be made, and made again in the same folder',
  async (name, { setup }) => {
    const folder = join(root, name);
    mkdirSync(folder);
    cpSync(join(SOURCES, name), folder, { recursive: true });
    for (const file of [join(SOURCES, 'http.ts'), resolve('openapi.json')]) {
      cpSync(file, join(folder, file.slice(dirname(file).length)));
    }
    for (const line of [...setup, ...setup]) await shell(name, line);
  },
  TIMEOUT_MS,
);

it(
  'each client stores its own plant exactly, whatever ran before it',
  async () => {
    for (const name of [...NAMES, ...NAMES.toReversed()]) {
      expect({ name, printed: await run(name) }).toEqual({ name, printed: PRINTED });
    }
    const first = 9_223_372_036_854_775_042n;
    expect(await service.store.plants()).toEqual(
      NAMES.map((_, i) => ({ id: first + BigInt(i), name: 'Alder', tag: 'Alnus' })),
    );
  },
  TIMEOUT_MS,
);

describe.each(NAMES)('%s', (name) => {
  it(
    'sends again after a 503, a 429 and a 408, as Retry-After asks',
    async () => {
      const overloaded = await Overloaded.start(service.port);
      try {
        const BASE_URL = `http://127.0.0.1:${overloaded.port}`;
        expect(await run(name, { BASE_URL })).toBe(PRINTED);
        const [first = 0, second = 0, ...more] = overloaded.times;
        expect(second - first).toBeGreaterThan(1_990);
        expect(more.length).toBeGreaterThanOrEqual(2);
      } finally {
        await overloaded.stop();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'prints status and message of a first response that is not 200',
    async () => {
      const text = await run(name, { TOKEN: 'plant_x' });
      expect(text).toContain('401');
      expect(text).toContain(INVALID_TOKEN.message);
    },
    TIMEOUT_MS,
  );

  it(
    'prints status and body of a proxy, and does not wait for an hour',
    async () => {
      const [body, TYPE] = ['<html>bad gateway</html>', 'text/html'];
      const headers = { 'content-type': TYPE, 'retry-after': '3600' };
      const proxy = await Overloaded.start(
        service.port,
        Array(2).fill({ status: 502, headers, body }),
      );
      try {
        const BASE_URL = `http://127.0.0.1:${proxy.port}`;
        const line = `{ ${CLIENTS[name]?.run}; } 2>&1 || true`;
        const { stdout } = await shell(name, line, { BASE_URL, TOKEN: 'x' });
        expect(new Set(stdout.trim().split('\n'))).toEqual(new Set([`502 ${body}`]));
      } finally {
        await proxy.stop();
      }
    },
    TIMEOUT_MS,
  );

  it(
    'waits some 15 s for a service that is down, then says so without a stack',
    async () => {
      const stopped = await Overloaded.start(service.port);
      const BASE_URL = `http://127.0.0.1:${stopped.port}`;
      await stopped.stop();
      const start = performance.now();
      const ran = run(name, { BASE_URL });
      await expect(ran).rejects.toMatchObject({
        stdout: '',
        stderr: expect.stringMatching(/^(\S.*conn.*\n|exit status 1\n)+$/i),
      });
      expect(performance.now() - start).toBeGreaterThan(14_000);
    },
    TIMEOUT_MS,
  );

  it(
    'says that its variables are not set',
    async () => {
      const { run = '' } = CLIENTS[name] ?? {};
      await expect(shell(name, run)).rejects.toMatchObject({
        stderr: expect.stringMatching(/BASE_URL.* not set/),
      });
    },
    TIMEOUT_MS,
  );
});
