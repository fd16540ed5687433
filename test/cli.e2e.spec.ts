import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isSecret } from '../src/auth/secret.js';
import { runCli, type Ran } from './support/cli.js';
import { runHere } from './support/cli-in-process.js';
import { createStore } from './support/engine.js';
import { Service } from './support/service.js';
import type { TemporaryStore } from './support/temporary-store.js';

let store: TemporaryStore;
beforeEach(async () => {
  store = await createStore();
});
afterEach(() => store.remove());

const run = (line: string): Promise<Ran> =>
  runHere(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: store.url } });
/** In a process of its own. */
const start = (line: string, url = store.url): Promise<Ran> =>
  runCli(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: url } });
const ONE_LINE = /^error: [^\n]+\n$/;

it('commands that make the store at once take turns', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const ran = await Promise.all(names.map((name) => start(`token create ${name}`)));
  expect(ran.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    names.map(() => ({ code: 0, stderr: '' })),
  );
  const tokens = JSON.parse((await run('token list --json')).stdout) as { name: string }[];
  expect(tokens.map(({ name }) => name).sort()).toEqual(names);
});

describe('token', () => {
  it('is created in a store that is made for it, listed, and revoked', async () => {
    const created = await run('token create nursery --expires 90d');
    const secret = created.stdout.slice(0, -1);
    expect(isSecret(secret)).toBe(true);
    expect(created).toEqual({ code: 0, stdout: `${secret}\n`, stderr: '' });

    const again = await run('token create nursery');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(ONE_LINE);

    expect((await run('token list')).stdout).toMatch(/^ID .*\n1 +nursery +active .*\n$/);
    const { stdout } = await run('token list --json');
    const [token] = JSON.parse(stdout) as { createdAt: string; expiresAt: string }[];
    expect(token).toMatchObject({ id: 1, name: 'nursery', revokedAt: null, lastUsedAt: null });
    expect(Object.keys(token ?? {})).not.toContain('hash');
    const times = [token?.expiresAt, token?.createdAt].map((time) => Date.parse(time ?? ''));
    expect((times[0] ?? 0) - (times[1] ?? 0)).toBe(90 * 86_400_000);

    const revoked = await run('token revoke nursery');
    expect(revoked).toEqual({ code: 0, stdout: 'revoked nursery\n', stderr: '' });
    expect(await run('token revoke 1')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: no token 1 that could be revoked\n',
    });
  });

  it('opens a service that runs', async () => {
    const service = await Service.start();
    try {
      const { stdout } = await start('token create other', service.store.url);
      const headers = { ...service.client.headers, authorization: `Bearer ${stdout.trim()}` };
      const answer = await service.client.send({ headers, body: '{"id":1,"name":"Alder"}' });
      expect(answer.status).toBe(200);
    } finally {
      await service.stop();
    }
  });
});

describe('migrate', () => {
  it('says what it ran, or that there was nothing to run', async () => {
    const first = await run('migrate');
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^(ran \w+\d{13}\n)+$/);
    expect(await run('migrate')).toEqual({ code: 0, stdout: 'up to date\n', stderr: '' });
  });
});
