import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createStore } from '../support/engine.js';
import { GuidedCopy } from '../support/guides.js';
import { AUDIENCE, IdentityProvider } from '../support/identity-provider.js';
import { ServiceProcess } from '../support/service-process.js';
import type { TemporaryStore } from '../support/temporary-store.js';

const execute = promisify(execFile);
const MAX = '9223372036854775807';

let copy: GuidedCopy;
let service: ServiceProcess;
let other: TemporaryStore;

let provider: IdentityProvider;
beforeAll(async () => {
  provider = await IdentityProvider.start();
  const guides = ['A new field of a plant', 'A second resource', 'A new operation'];
  copy = new GuidedCopy(guides, ['gardens:write', 'plants:read']);
  service = await ServiceProcess.start({ under: copy.under, env: provider.env });
  other = await createStore();
});
afterAll(async () => {
  await service.remove();
  await other.remove();
  copy.remove();
  await provider.stop();
});

/** Runs a command of the service. Resolves to what it printed. */
async function cli(line: string, { url, folder }: TemporaryStore = service.store): Promise<string> {
  const env = { PATH: process.env.PATH, DATABASE_URL: url };
  return (await execute(process.execPath, [copy.cli, ...line.split(' ')], { cwd: folder, env }))
    .stdout;
}

async function send(method: string, path: string, token: string, body?: string) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method,
    ...(body === undefined
      ? { headers }
      : { headers: { ...headers, 'content-type': 'application/json' }, body }),
  });
  return { status: response.status, text: await response.text() };
}

/** Backs the store up, verifies the backup, and restores it. Returns what was backed up, by tables. */
async function moveStore(): Promise<string[]> {
  const file = join(service.store.folder, 'backup.sqlite');
  const made = await cli(`backup ${file}`);
  expect(made).toMatch(/^(\w+: \d+, sha256 [\da-f]{64}\n)+$/);
  expect(await cli(`backup --verify ${file}`)).toBe(`${made}no damage found\n`);
  const counts = made.match(/^\w+: \d+/gm) ?? [];
  expect(await cli('check')).toBe(`${counts.join(', ')}; no damage found\n`);
  await cli('migrate', other);
  expect(await cli(`restore ${file}`, other)).toBe(made);
  return counts;
}

/** A token of the provider. */
const sign = (scope: string) => {
  const exp = Math.floor(Date.now() / 1_000) + 600;
  return provider.key().sign({ iss: provider.url, aud: AUDIENCE, sub: 'x', scope, exp });
};

it('a new field of a plant is stored, returned, compared and exported', async () => {
  const [whole, bare] = ['{"id":1,"name":"oak","origin":"Kew"}', '{"id":2,"name":"oak"}'];
  const post = (body: string) => send('POST', '/plants', service.token, body);
  for (const text of ['{"name":"oak","origin":"Kew"}', '{"name":"oak","origin":"Kew"}'])
    expect(await post(whole)).toEqual({ status: 200, text });
  expect(await post(bare)).toEqual({ status: 200, text: '{"name":"oak"}' });
  for (const origin of ['"Ghent"', '""'])
    expect((await post(`{"id":1,"name":"oak","origin":${origin}}`)).text).toContain('1004');
  expect((await post('{"id":3,"name":"oak","origin":null}')).text).toContain('origin must be');
  expect(await cli('export')).toBe(`${whole}\n${bare}\n`);
});

it('new operations are refused to tokens that lack their scope, all of the service among them', async () => {
  const others = await sign('plants:create plants:read:all');
  for (const token of [service.token, others])
    for (const [method, path, scope] of [
      ['POST', '/gardens', 'gardens:write'],
      ['GET', '/plants/1', 'plants:read'],
    ] as const)
      expect(await send(method, path, token, method === 'POST' ? '{}' : undefined)).toEqual({
        status: 403,
        text: `{"error":2002,"message":"the token lacks the scope ${scope}"}`,
      });
});

it('a new scope that is the word of the provider for plants:create ends the start', async () => {
  const env = { ...provider.env, AUTH_SCOPE: 'plants:read' };
  const started = ServiceProcess.start({ under: copy.under, store: other, token: '-', env });
  await expect(started).rejects.toThrow('AUTH_SCOPE must be none of');
});

it('a garden is saved with its id to the last digit, and is in a backup', async () => {
  const token = await sign('gardens:write');
  const save = (body: string) => send('POST', '/gardens', token, body);
  for (const isOpen of [false, true]) {
    const garden = `{"id":${MAX},"name":"Kew","isOpen":${isOpen}}`;
    expect(await save(garden)).toEqual({ status: 200, text: garden });
  }
  const many = Array.from({ length: 40 }, (_, i) => save(`{"id":${i},"name":"g","isOpen":false}`));
  for (const response of many) expect((await response).status).toBe(200);
  expect(await save('{"id":-7,"name":"g","isOpen":true}')).toMatchObject({ status: 200 });
  const { status, text } = await save('{"id":1,"name":"g"}');
  expect({ status, text }).toMatchObject({
    status: 400,
    text: expect.stringContaining('isOpen must be a boolean'),
  });
  for (const bad of ['"id":[1]', '"id":1e400', '"id":1,"name":1e400'])
    expect((await save(`{"name":"g","isOpen":true,${bad}}`)).status).toBe(400);
  const further = '"extra":12345678901234567890,"more":[{"n":1e400}]';
  const one = () => save(`{"id":1,"name":"g","isOpen":true,${further}}`);
  const same = await Promise.all(Array.from({ length: 30 }, one));
  expect(new Set(same.map((response) => response.status))).toEqual(new Set([200]));
  expect((await send('POST', '/gardens', token)).text).toContain('1001');
  expect((await send('PUT', '/gardens', token)).text).toContain('only POST /gardens');
  const counts = ['gardens: 42', 'plants: 2', 'tokens: 1'];
  expect(await moveStore()).toEqual(expect.arrayContaining(counts));
  const all = 'SELECT id, name, is_open FROM gardens ORDER BY id';
  expect(await other.rows(all)).toEqual(await service.store.rows(all));
  expect(await cli('export', other)).toBe(await cli('export'));
  const file = join(service.store.folder, 'backup.sqlite');
  await expect(cli(`restore ${file}`, other)).rejects.toThrow('the store has gardens');
});

it('a plant is found by its id', async () => {
  const token = await sign('plants:read');
  const find = (id: string) => send('GET', `/plants/${id}`, token);
  expect((await service.client().create({ id: 7n, name: 'oak' })).status).toBe(200);
  expect(await find('7')).toEqual({ status: 200, text: '{"name":"oak"}' });
  const missing = '{"error":3006,"message":"no such plant"}';
  expect(await find(MAX)).toEqual({ status: 404, text: missing });
  for (const id of ['x', '%ff', '%zz']) expect((await find(id)).status).toBe(400);
  expect((await send('POST', '/plants', token, '{"id":8,"name":"oak"}')).status).toBe(403);
  expect((await send('PUT', '/plants/7', token)).text).toContain('only GET, HEAD /plants/:id');
});
