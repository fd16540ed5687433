import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { ServiceWithGardens } from '../support/second-resource.js';
import { ServiceProcess } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const execute = promisify(execFile);
const MAX = '9223372036854775807';

let built: ServiceWithGardens;
let service: ServiceProcess;
let other: TemporaryStore;
beforeAll(async () => {
  built = new ServiceWithGardens();
  service = await ServiceProcess.start({ under: built.under });
  other = await createStore();
});
afterAll(async () => {
  await service.remove();
  await other.remove();
  built.remove();
});

/** Runs a command of the service with gardens. Resolves to what it printed. */
async function cli(line: string, { url, folder }: TemporaryStore = service.store): Promise<string> {
  const env = { PATH: process.env.PATH, DATABASE_URL: url };
  const args = [built.cli, ...line.split(' ')];
  return (await execute(process.execPath, args, { cwd: folder, env })).stdout;
}

async function send(method: string, path: string, body?: string) {
  const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' };
  const response = await fetch(`http://127.0.0.1:${service.port}/gardens${path}`, {
    method,
    headers,
    ...(body && { body }),
  });
  return { status: response.status, text: await response.text() };
}

const garden = (id: string, isOpen = true) => `{"id":${id},"name":"g","isOpen":${isOpen}}`;

it('is served as the sample says, with its ids to the last digit', async () => {
  for (const [id, isOpen] of [
    [MAX, true],
    ['-7', false],
  ] as const)
    expect(await send('POST', '', garden(id, isOpen))).toEqual({
      status: 200,
      text: garden(id, isOpen),
    });
  expect(await send('GET', `/${MAX}`)).toEqual({ status: 200, text: garden(MAX) });
  expect(await send('GET', '/-7')).toEqual({ status: 200, text: garden('-7', false) });
  expect((await send('GET', '/8')).status).toBe(404);
  expect((await send('GET', '/x')).status).toBe(400);
  expect((await send('PUT', '/8')).status).toBe(405);
  expect((await send('POST', '', '{"id":1,"name":"g"}')).text).toContain(
    'isOpen must be a boolean',
  );
  expect((await service.client().create({ id: 1n, name: 'oak' })).status).toBe(200);
});

it('is stored, one write beside the other', async () => {
  const ids = Array.from({ length: 40 }, (_, i) => String(100 + i));
  const responses = await Promise.all(ids.map((id) => send('POST', '', garden(id))));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  const [row] = await service.store.rows<{ n: bigint }>('SELECT count(*) AS n FROM gardens');
  expect(Number(row?.n)).toBe(42);
});

it('is in a backup, which is verified, restored and checked', async () => {
  const file = join(service.store.folder, 'backup.sqlite');
  const made = await cli(`backup ${file}`);
  expect(made).toMatch(/^(\w+: \d+, sha256 [\da-f]{64}\n)+$/);
  const counts = made.match(/^\w+: \d+/gm) ?? [];
  expect(counts).toEqual(expect.arrayContaining(['gardens: 42', 'plants: 1', 'tokens: 1']));
  expect(await cli(`backup --verify ${file}`)).toBe(`${made}no damage found\n`);
  expect(await cli('check')).toBe(`${counts.join(', ')}; no damage found\n`);
  await cli('migrate', other);
  expect(await cli(`restore ${file}`, other)).toBe(made);
  const all = 'SELECT id, name, is_open FROM gardens ORDER BY id';
  expect(await other.rows(all)).toEqual(await service.store.rows(all));
  await expect(cli(`restore ${file}`, other)).rejects.toThrow('the store has gardens');
});
