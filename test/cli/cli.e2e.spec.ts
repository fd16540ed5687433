import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { hasSecretForm, createSecret } from '../../src/auth/tokens/token-secret.js';
import { MIGRATIONS } from '../../src/database/schema.js';
import { runCli, runHere, type Ran } from '../support/cli.js';
import { cli, makeStore, store } from '../support/own.js';

makeStore();

const surroundings = (input = '') => ({
  cwd: store.folder,
  env: { DATABASE_URL: store.url },
  input,
});
const run = (line: string, input = ''): Promise<Ran> =>
  runHere(line.split(' '), surroundings(input));

it('concurrent commands take turns to create the store and to write to it', async () => {
  const runAll = (...lines: string[]) =>
    Promise.all(lines.map((line) => runCli(line.split(' '), surroundings())));
  const migrated = await runAll('migrate', 'migrate', 'migrate');
  const ran = expect.stringMatching(/^(ran \w+\d{13}\n)+$/);
  // Each migration is run once.
  expect(migrated.toSorted((a, b) => (a.stdout < b.stdout ? -1 : 1))).toEqual([
    { code: 0, stdout: ran, stderr: '' },
    { code: 0, stdout: 'up to date\n', stderr: '' },
    { code: 0, stdout: 'up to date\n', stderr: '' },
  ]);
  const created = await runAll(...['a', 'b', 'e', 'e'].map((name) => `token create ${name}`));
  const codes = created.map(({ code }) => code);
  expect(codes.slice(0, 2)).toEqual([0, 0]);
  expect(codes.slice(2).sort()).toEqual([0, 1]);
  const tokens = JSON.parse((await run('token list --json')).stdout) as { name: string }[];
  expect(tokens.map(({ name }) => name).sort()).toEqual(['a', 'b', 'e']);
});

describe('token', () => {
  it('is created, listed, and revoked', async () => {
    await run('migrate');
    const created = await run('token create nursery --expires 90d');
    const secret = created.stdout.slice(0, -1);
    expect(hasSecretForm(secret)).toBe(true);
    const expiry = /^nursery \(1\) expires 20[-\d]+ [:\d]+ UTC\n$/;
    const stdout = `${secret}\n`;
    expect(created).toEqual({ code: 0, stdout, stderr: expect.stringMatching(expiry) });

    const exists = /^error: a token named nursery exists: [^\n]+\n$/;
    const failure = { code: 1, stdout: '', stderr: expect.stringMatching(exists) };
    expect(await cli('token create nursery')).toEqual(failure);

    expect((await run('token list')).stdout).toMatch(/^ID .*\n1 +nursery +active .*\n$/);
    const [token] = JSON.parse((await run('token list --json')).stdout) as Record<string, string>[];
    expect(token).toMatchObject({ id: 1, name: 'nursery', revokedAt: null, lastUsedAt: null });
    expect(token).not.toHaveProperty('hash');
    const { createdAt = '', expiresAt = '' } = token ?? {};
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(90 * 86_400_000);

    const revoked = await run('token revoke 1');
    expect(revoked).toEqual({ code: 0, stdout: 'revoked 1: nursery (1)\n', stderr: '' });
    for (const which of ['1', 'nursery']) {
      const stderr = `error: no active token with the name or id ${which}\n`;
      expect(await cli(`token revoke ${which}`)).toEqual({ ...failure, stderr });
    }
  });

  it('is listed with --all only, if it ended more than 30 days ago', async () => {
    await run('migrate');
    for (const name of ['a', 'b', 'c', 'd', 'e']) await run(`token create ${name}`);
    const before = (days: number) => Date.now() - days * 86_400_000;
    await store.execute(`
      UPDATE tokens SET created_at = ${before(90)};
      UPDATE tokens SET revoked_at = ${before(31)} WHERE name = 'a';
      UPDATE tokens SET expires_at = ${before(31)} WHERE name = 'b';
      UPDATE tokens SET revoked_at = ${before(29)}, expires_at = ${before(31)} WHERE name = 'c';
      UPDATE tokens SET expires_at = ${before(29)} WHERE name = 'd'`);
    const list = async (line: string) => {
      const { stdout } = await run(line);
      const tokens = JSON.parse((await run(`${line} --json`)).stdout) as { name: string }[];
      const names = tokens.map(({ name }) => name);
      expect(stdout.match(/(?<=^\d +)\w+/gm)).toEqual(names);
      return names;
    };
    expect(await list('token list')).toEqual(['c', 'd', 'e']);
    expect(await list('token list --all')).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('has a name that cannot write on the terminal, whoever has made the store', async () => {
    await run('migrate');
    await run('token create nursery --expires 1d');
    await store.execute("UPDATE tokens SET name = 'a\u001b[2J'");
    for (const line of ['token list', 'token revoke 1']) {
      const { stdout, stderr } = await run(line);
      expect(stdout).toContain('a\\u001b[2J');
      expect(stdout + stderr).not.toContain('\u001b');
    }
  });

  it('is verified by its secret on stdin', async () => {
    await run('migrate');
    const secret = (await run('token create nursery')).stdout.trim();
    const stdout = expect.stringMatching(/^ID .*\n1 +nursery +active .*\n$/);
    const verified = { code: 0, stdout, stderr: '' };
    for (const text of [secret, `bearer ${secret}`, `Authorization: Bearer ${secret} `])
      expect(await run('token verify', `${text}\n`)).toEqual(verified);
    await run('token revoke nursery');
    const revoked = await run('token verify --json', secret);
    expect(revoked.code).toBe(1);
    expect(JSON.parse(revoked.stdout)).toMatchObject({ id: 1, name: 'nursery', state: 'revoked' });
    const states = {
      [createSecret()]: 'unknown',
      [`${secret}x`]: 'malformed',
      'a.b.c': 'malformed',
    };
    for (const [text, state] of Object.entries(states)) {
      const { code, stdout } = await run('token verify --json', text);
      expect({ code, ...(JSON.parse(stdout) as object) }).toEqual({ code: 1, state });
    }
    expect(await run('token verify', '\n')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: the standard input has no token\n(add --help for additional information)\n',
    });
  });

  it('is printed as JSON with --json', async () => {
    const json = async (line: string) =>
      JSON.parse((await run(`${line} --json`)).stdout) as unknown;
    expect(await json('migrate')).toEqual({ ran: MIGRATIONS.map(({ name }) => name) });
    expect(await json('migrate')).toEqual({ ran: [] });
    const created = await json('token create nursery --expires 90d');
    expect(created).toMatchObject({ id: 1, name: 'nursery', state: 'active', revokedAt: null });
    const rotated = await json('token rotate nursery');
    expect(rotated).toMatchObject({ id: 2, name: 'nursery', state: 'active' });
    const secrets = [created, rotated].map((one) => (one as { token: string }).token);
    expect(secrets.map(hasSecretForm)).toEqual([true, true]);
    const both = [1, 2].map((id) => expect.objectContaining({ id, state: 'revoked' }));
    expect(await json('token revoke nursery')).toEqual(both);
    expect(await json('token list')).toEqual(both);
    await run('token create orchard');
    const orchard = expect.objectContaining({ id: 3, state: 'revoked' });
    expect(await json('token revoke --all')).toEqual([orchard]);
  });
});

it.each(['token list', 'token create x', 'token revoke x', 'token rotate x'])(
  'a missing store is not created by %s, which fails with one line',
  async (line) => {
    const missing =
      /^error: .*(no file .*: run .*`bin\/plant-store migrate`|is empty: for a new store run `bin\/plant-store migrate`; to have plants back, restore a backup \(docs\/operating\.md#restore\))\n$/;
    const failure = { code: 1, stdout: '', stderr: expect.stringMatching(missing) };
    expect(await cli(line)).toEqual(failure);
    expect(readdirSync(store.folder)).toEqual([]);
    // Nor are its tables created in a file or database that exists.
    await run('migrate');
    await store.execute('DROP TABLE plant_store_migrations');
    const foreign = /it is not a plant store.*`bin\/plant-store migrate`/;
    expect(await cli(line)).toEqual({ ...failure, stderr: expect.stringMatching(foreign) });
    const look = async () => store.rows('SELECT * FROM plant_store_migrations');
    await expect(look()).rejects.toThrow('plant_store_migrations');
  },
);
