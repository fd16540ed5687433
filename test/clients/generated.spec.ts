/** @engine sqlite */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { delimiter, dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ERRORS } from '../../src/errors/error-codes.js';
import { end, listen } from '../support/local-server.js';
import { blockOf } from '../support/published.js';
import { freePort } from '../support/postgres-programs.js';
import type { Received } from '../support/received.js';
import { ServiceProcess } from '../support/service-process.js';

// It installs generators.
jest.setTimeout(600_000);

const { ID_TAKEN, INVALID_TOKEN } = ERRORS;
const PRINTED = `Alder\n400 ${ID_TAKEN.error}: ${ID_TAKEN.message}\n`;

/** The lines of the block of shell commands below a heading of docs/clients.md. */
const linesOf = (heading: string): string[] =>
  blockOf('docs/clients.md', heading)
    .trimEnd()
    .split(/(?<!\\)\n/);

/** How each client is made, and by its last line run, in a folder with its sources and `openapi.json`. */
const CLIENTS: Readonly<Record<string, readonly string[]>> = {
  'openapi-fetch': linesOf('TypeScript'),
  python: linesOf('Python'),
  ogen: linesOf('Go'),
};
const NAMES = Object.keys(CLIENTS);
const runLineOf = (name: string): string => CLIENTS[name]?.at(-1) ?? '';

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

type Variables = Readonly<Partial<Record<'BASE_URL' | 'TOKEN', string>>>;

/** Runs a line of a recipe in the folder of a client, in a shell with this Node.js. */
async function shell(name: string, line: string, variables: Variables = {}) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH, ...variables };
  const options = { cwd: join(root, name), env, maxBuffer: 2 ** 26 };
  return promisify(execFile)('sh', ['-euc', line], options);
}

/** What a client prints. */
async function run(name: string, variables: Variables = {}): Promise<string> {
  const own = { BASE_URL: `http://127.0.0.1:${service.port}`, TOKEN: service.token };
  return (await shell(name, runLineOf(name), { ...own, ...variables })).stdout;
}

type Response = Pick<Received, 'status' | 'headers' | 'text'>;

/** Starts a proxy of the service that sends these responses to the first requests itself. */
async function startProxy(responses: readonly Response[]) {
  /** When each request arrived, in milliseconds. */
  const times: number[] = [];
  const client = service.client();
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const own = responses[times.push(performance.now()) - 1];
    const body = await text(request);
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const sent = own ?? (await client.post(body, { authorization, 'content-type': type }));
    response.writeHead(sent.status, sent.headers).end(sent.text);
  };
  const server = createServer((...args) => void respond(...args));
  const BASE_URL = `http://127.0.0.1:${await listen(server)}`;
  return { BASE_URL, times, [Symbol.asyncDispose]: () => end(server) };
}

it.each(NAMES)('%s can be made, and made again in the same folder', async (name) => {
  const folder = join(root, name);
  cpSync(join('test/clients', name), folder, { recursive: true });
  cpSync('openapi.json', join(folder, 'openapi.json'));
  const setup = CLIENTS[name]?.slice(0, -1) ?? [];
  for (const line of [...setup, ...setup]) await shell(name, line);
});

it('each client stores its own plant exactly, whatever ran before it', async () => {
  for (const name of [...NAMES, ...NAMES.toReversed()]) {
    expect({ name, printed: await run(name) }).toEqual({ name, printed: PRINTED });
  }
  const first = 9_223_372_036_854_775_042n;
  expect(await service.store.plants()).toEqual(
    NAMES.map((_, i) => ({ id: first + BigInt(i), name: 'Alder', tag: 'Alnus' })),
  );
});

describe.each(NAMES)('%s', (name) => {
  it('sends again after a 503, a 429 and a 408, as Retry-After asks', async () => {
    const type = { 'content-type': 'application/json' };
    const text = '{"error":1,"message":"again"}';
    await using overloaded = await startProxy([
      { status: 503, headers: { ...type, 'retry-after': '2' }, text },
      { status: 429, headers: { ...type, 'retry-after': '1' }, text },
      { status: 408, headers: { ...type, connection: 'close' }, text },
    ]);
    const { BASE_URL, times } = overloaded;
    expect(await run(name, { BASE_URL })).toBe(PRINTED);
    const [first = 0, second = 0, ...more] = times;
    expect(second - first).toBeGreaterThan(1_990);
    expect(more.length).toBeGreaterThanOrEqual(2);
  });

  it('prints status and message of a first response that is not 200', async () => {
    const printed = await run(name, { TOKEN: 'plant_x' });
    expect(printed).toContain('401');
    expect(printed).toContain(INVALID_TOKEN.message);
  });

  it('prints status and body of a proxy, and does not wait for an hour', async () => {
    const headers = { 'content-type': 'text/html', 'retry-after': '3600' };
    const response = { status: 502, headers, text: '<html>bad gateway</html>' };
    await using proxy = await startProxy([response, response]);
    const line = `{ ${runLineOf(name)}; } 2>&1 || true`;
    const { stdout } = await shell(name, line, { BASE_URL: proxy.BASE_URL, TOKEN: 'x' });
    expect(new Set(stdout.trim().split('\n'))).toEqual(new Set([`502 ${response.text}`]));
  });

  it('waits some 15 s for a service that is down, then says so without a stack', async () => {
    const BASE_URL = `http://127.0.0.1:${await freePort()}`;
    const start = performance.now();
    await expect(run(name, { BASE_URL })).rejects.toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/^(\S.*conn.*\n|exit status 1\n)+$/i),
    });
    expect(performance.now() - start).toBeGreaterThan(14_000);
  });

  it('says that its variables are not set', async () => {
    await expect(shell(name, runLineOf(name))).rejects.toMatchObject({
      stderr: expect.stringMatching(/BASE_URL.* not set/),
    });
  });
});

describe('the Python sample of docs/api.md', () => {
  const sample = async (TOKEN = service.token) => {
    const env = { ...process.env, BASE_URL: `http://127.0.0.1:${service.port}`, TOKEN };
    const script = blockOf('docs/api.md', 'Samples', 'python');
    return (await promisify(execFile)('python3', ['-c', script], { env })).stdout;
  };

  it('stores a plant, and again', async () => {
    for (let i = 0; i < 2; i++) expect(await sample()).toBe('stored: Common alder\n');
    const plant = { id: 9_007_199_254_740_995n, name: 'Common alder', tag: 'Alnus glutinosa' };
    expect(await service.store.plant(plant.id)).toEqual(plant);
  });

  it('prints an error', async () => {
    expect(await sample('plant_x')).toBe('401, error 2001: invalid or expired token\n');
  });
});
