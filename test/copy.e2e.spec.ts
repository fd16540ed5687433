import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '../src/config/read-config.js';
import { migrateStore } from '../src/database/open-store.js';
import { runCli, type Ran } from './support/cli.js';
import { createStore } from './support/engine.js';
import { ServiceProcess } from './support/service-process.js';
import { SqliteStore } from './support/sqlite-store.js';
import type { StoredPlant, TemporaryStore } from './support/temporary-store.js';

const CLI = fileURLToPath(new URL('../dist/src/cli.js', import.meta.url));
const END = 2n ** 63n;
const PLANTS: StoredPlant[] = [
  { id: -END, name: 'lowest', tag: null },
  { id: -1n, name: '', tag: '' },
  { id: 0n, name: 'NULL', tag: 'null' },
  { id: 2n ** 53n, name: '{"a",NULL}', tag: '\\' },
  { id: 2n ** 53n + 1n, name: "Alder 木 🌵 é e\u0301 \u2028\n\t'", tag: '"' },
  // Long enough for pages of their own.
  ...[5n, 6n, 7n].map((i) => ({ id: END - i, name: '長'.repeat(500_000), tag: null })),
  { id: END - 1n, name: 'highest', tag: 'x' },
];

/** Rows that make pages: `{1}` is how many. */
const MANY = `
  WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {1})
  INSERT INTO plants (id, name, tag)
  SELECT (i - 1000) * 92233720368547 + 3, 'plant ' || i, 't' || i % 7 FROM row`;

let source: SqliteStore;
let target: TemporaryStore;
beforeEach(async () => {
  source = new SqliteStore();
  target = await createStore();
  for (const { url } of [source, target]) await migrateStore(readConfig({ DATABASE_URL: url }));
});
afterEach(async () => {
  await source.remove();
  await target.remove();
});

/** Runs a command on a store. */
function cli(store: TemporaryStore, line: string): Promise<Ran> {
  return runCli(line.split(' '), { cwd: store.folder, env: { DATABASE_URL: store.url } });
}

function copy(from: TemporaryStore, to: TemporaryStore): Promise<Ran> {
  return runCli(['copy', '--from', from.url, '--to', to.url], { cwd: source.folder });
}

/** Puts plants into the source past the service. */
function put(plants: readonly StoredPlant[]): void {
  const database = source.open();
  const insert = database.prepare('INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)');
  database.transaction(() => plants.forEach(({ id, name, tag }) => insert.run(id, name, tag)))();
  database.close();
}

async function makeToken(store: TemporaryStore, name: string): Promise<string> {
  return (await cli(store, `token create ${name} --expires 90d`)).stdout.trim();
}

/** All that is stored of every token but its id, in the order of the ids. */
function tokens(store: TemporaryStore): Promise<Record<string, unknown>[]> {
  const columns = 'name, hash, created_at, expires_at, revoked_at, last_used_at';
  return store.rows(`SELECT ${columns} FROM tokens ORDER BY id`);
}

/** What a copy says in the end where all is well. */
function done(plants: number, tokenCount: number, further = '', tokensToo = ''): RegExp {
  const digest = 'sha256 ([0-9a-f]{64})';
  return new RegExp(
    `^plants in the source: ${plants}, ${digest}\nplants in the target: ${plants}, sha256 \\1${further}\n` +
      `tokens in the source: ${tokenCount}, ${digest}\ntokens in the target: ${tokenCount}, sha256 \\2${tokensToo}\n$`,
  );
}

describe('a copy', () => {
  it('has every plant and every token, there and back', async () => {
    put(PLANTS);
    await source.execute(MANY.replace('{1}', '2500'));
    const secrets = [await makeToken(source, 'kept'), await makeToken(source, 'lost')];
    await source.execute('UPDATE tokens SET last_used_at = created_at + 5 WHERE id = 1');
    await cli(source, 'token revoke lost');

    const first = await copy(source, target);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(done(2_500 + PLANTS.length, 2));
    expect(await target.plants()).toEqual(await source.plants());
    expect(await tokens(target)).toEqual(await tokens(source));

    const back = new SqliteStore();
    expect(await copy(target, back)).toEqual(first);
    expect(await back.plants()).toEqual(await source.plants());
    expect(await tokens(back)).toEqual(await tokens(source));
    await back.remove();

    const statuses = [];
    for (const token of secrets) {
      const service = await ServiceProcess.start({ store: target, token });
      const [plant] = PLANTS.slice(-1);
      if (plant) statuses.push((await service.client().create({ ...plant, tag: 'x' })).status);
      await service.kill();
    }
    expect(statuses).toEqual([200, 401]);
  });

  it('of an empty store is empty', async () => {
    const { code, stdout } = await copy(source, target);
    expect(code).toBe(0);
    expect(stdout).toMatch(done(0, 0));
  });

  it('brings what is new, and leaves what the target alone has', async () => {
    put(PLANTS.slice(0, 3));
    expect((await copy(source, target)).code).toBe(0);
    put(PLANTS.slice(3));
    await target.execute("INSERT INTO plants (id, name, tag) VALUES (77, 'own', NULL)");
    const again = await copy(source, target);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toMatch(done(PLANTS.length, 0, ', and 1 further'));
    expect(await target.plant(77n)).toEqual({ id: 77n, name: 'own', tag: null });
    expect(await target.count()).toBe(PLANTS.length + 1);
    expect(await copy(source, target)).toEqual(again);
  });

  it('revokes what the source has revoked since, and never the other way round', async () => {
    for (const name of ['a', 'b']) await makeToken(source, name);
    expect((await copy(source, target)).code).toBe(0);
    await cli(source, 'token revoke a');
    await cli(target, 'token revoke b');
    await source.execute("UPDATE tokens SET last_used_at = created_at + 9 WHERE name = 'b'");
    const { code, stdout } = await copy(source, target);
    expect(code).toBe(0);
    expect(stdout).toMatch(done(0, 2));
    const [a, b] = await tokens(source);
    const [copyOfA, copyOfB] = await tokens(target);
    expect(copyOfA).toEqual(a);
    expect(copyOfB).toEqual({ ...b, revoked_at: expect.anything() });
  });

  it('takes over an end that a rotation has brought nearer, and never the other way round', async () => {
    for (const name of ['a', 'b', 'c']) await makeToken(source, name);
    await source.execute("UPDATE tokens SET expires_at = NULL WHERE name = 'c'");
    expect((await copy(source, target)).code).toBe(0);
    await source.execute("UPDATE tokens SET expires_at = 1000 WHERE name <> 'b'");
    await target.execute("UPDATE tokens SET expires_at = 2000 WHERE name = 'b'");
    const { code, stdout } = await copy(source, target);
    expect(code).toBe(0);
    expect(stdout).toMatch(done(0, 3));
    const ends = (await tokens(target)).map(({ expires_at }) => expires_at);
    expect(ends).toEqual([1000n, 2000n, 1000n]);
  });

  it('that was killed is complete when it is run again', async () => {
    const total = 100_000;
    await source.execute(MANY.replace('{1}', String(total)));
    const env = { PATH: process.env.PATH, COPY_FROM: source.url, COPY_TO: target.url };
    const child = spawn(process.execPath, [CLI, 'copy'], { cwd: source.folder, env });
    const ended = once(child, 'exit');
    while ((await target.count()) === 0) await sleep(5);
    child.kill('SIGKILL');
    await ended;
    expect(await target.count()).toBeLessThan(total);
    const { code, stdout } = await copy(source, target);
    expect(code).toBe(0);
    expect(stdout).toMatch(done(total, 0));
    expect(await target.plants()).toEqual(await source.plants());
  });
});

describe('the audit trail', () => {
  const CREATED = 'INSERT INTO plants (id, name, created_by, created_at) VALUES';

  /** Who created each plant, a token by its name, and when; in the order of the ids. */
  function trail(store: TemporaryStore): Promise<unknown[]> {
    return store.rows(`
      SELECT plants.id, COALESCE(tokens.name, created_by) AS creator, plants.created_at
      FROM plants LEFT JOIN tokens ON created_by = 'token:' || tokens.id ORDER BY plants.id`);
  }

  it('comes along, under the ids that the tokens have in the target', async () => {
    for (const name of ['own', 'gone']) await makeToken(target, name);
    for (const name of ['a', 'b']) await makeToken(source, name);
    const others = `(3, 'x', 'jwt:token:1', ${END - 1n}), (4, 'x', NULL, NULL)`;
    await source.execute(`${CREATED} (1, 'x', 'token:1', 5), (2, 'x', 'token:2', 6), ${others}`);
    const first = await copy(source, target);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).not.toContain('otherwise');
    expect(await trail(target)).toEqual(await trail(source));
    expect(await target.rows('SELECT created_by FROM plants WHERE id = 1')).toEqual([
      { created_by: 'token:3' },
    ]);
    expect(await copy(source, target)).toEqual(first);

    const back = new SqliteStore();
    expect((await copy(target, back)).code).toBe(0);
    expect(await trail(back)).toEqual(await trail(source));
    await back.remove();
  });

  it('names nobody for a token that the source has no more', async () => {
    await makeToken(target, 'innocent');
    await source.execute(`${CREATED} (1, 'x', 'token:1', 5)`);
    expect((await copy(source, target)).code).toBe(0);
    expect(await trail(target)).toEqual([{ id: 1n, creator: null, created_at: 5n }]);
  });

  it('of plants that the target has already stays, and they are counted', async () => {
    for (const store of [source, target]) {
      await makeToken(store, 'a');
      await store.execute(`${CREATED} (1, 'x', 'token:1', 5)`);
    }
    await target.execute(`${CREATED} (2, 'y', 'jwt:b', 5)`);
    const before = await trail(target);
    const { code, stdout } = await copy(source, target);
    expect(code).toBe(0);
    expect(stdout).toMatch(done(1, 1, ', 1 created otherwise, and 1 further', ', and 1 further'));
    expect(await trail(target)).toEqual(before);
  });
});

describe('a copy is refused', () => {
  it('where the target holds other plants under the ids, and names the first few', async () => {
    put(Array.from({ length: 9 }, (_, i) => ({ id: BigInt(i), name: 'plant', tag: null })));
    await makeToken(source, 'x');
    await target.execute(
      "INSERT INTO plants (id, name, tag) VALUES (0, 'plant', NULL), (1, 'other', NULL)",
    );
    await target.execute(
      "INSERT INTO plants (id, name, tag) VALUES (2, 'plant', ''), (8, 'Plant', NULL)",
    );
    for (const id of [3, 4, 5])
      await target.execute(`INSERT INTO plants (id, name, tag) VALUES (${id}, 'plant', 'x')`);
    const before = await target.plants();
    expect(await copy(source, target)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: the target holds other plants under ids of the source: ' +
        '6 (1, 2, 3, 4, 5, …); nothing was copied\n',
    });
    expect(await target.plants()).toEqual(before);
    expect(await tokens(target)).toEqual([]);
  });

  it('where the target holds a token otherwise', async () => {
    await makeToken(source, 'mine');
    expect((await copy(source, target)).code).toBe(0);
    await target.execute("UPDATE tokens SET name = 'yours'");
    put(PLANTS);
    const { code, stderr } = await copy(source, target);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: the target holds tokens of the source otherwise: 1 (mine); nothing was copied\n',
    );
    expect(await target.count()).toBe(0);
  });

  it.each(['missing.sqlite', 'no/folder/store.sqlite'])(
    'from %s, which is not made',
    async (to) => {
      const args = ['copy', '--from', `sqlite:${to}`, '--to', target.url];
      expect(await runCli(args, { cwd: source.folder })).toEqual({
        code: 1,
        stdout: '',
        stderr: `error: --from: the store cannot be opened: there is no file ${to}\n`,
      });
      expect(existsSync(join(source.folder, to.split('/')[0] ?? ''))).toBe(false);
    },
  );

  it('from a file of another program, which stays as it is', async () => {
    await source.execute('DROP TABLE plants; DROP TABLE migrations; PRAGMA journal_mode = DELETE');
    const before = readFileSync(source.path);
    const { code, stderr } = await copy(source, target);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'error: --from: the store cannot be opened: it is no plant store whose schema is up to date: run `plant-store migrate` on it\n',
    });
    expect(readFileSync(source.path).equals(before)).toBe(true);
  });

  it('from a store that is to be migrated first', async () => {
    await source.execute('DELETE FROM migrations');
    const { code, stderr } = await copy(source, target);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: --from: [^\n]*whose schema is up to date: run `plant-store migrate`[^\n]*\n$/,
    );
    expect(await source.rows('SELECT * FROM migrations')).toEqual([]);
  });
});

describe('bad usage', () => {
  const GOOD = 'sqlite:./data/store.sqlite';
  it.each([
    [['--from', GOOD], "required option '--to <url>' not specified"],
    [['--from', GOOD, '--to', 'postgres://u:SECRET@h'], '--to must be sqlite: and the path'],
    [['--from', GOOD, '--to', 'sqlite:x', '--too=postgres://u:SECRET@h/d'], "option '--too=…'"],
    [['--from', GOOD, '--to', 'sqlite:x', 'postgres://u:SECRET@h/d'], 'too many arguments'],
  ])('%j', async (args, message) => {
    const { code, stdout, stderr } = await runCli(['copy', ...args], { cwd: source.folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('SECRET');
  });
});

describe('a server that cannot be reached', () => {
  const AWAY = 'postgres://u:SECRET@127.0.0.1:1/d';
  it.each([
    ['--from', { COPY_FROM: AWAY, COPY_TO: 'sqlite:x' }],
    ['--to', { COPY_FROM: 'sqlite:./data/store.sqlite', COPY_TO: AWAY }],
  ])('is named as %s, without its password', async (option, env) => {
    const { code, stdout, stderr } = await runCli(['copy'], { cwd: source.folder, env });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${option}: the store cannot be opened: connect ECONNREFUSED 127.0.0.1:1\n`,
    });
    expect(existsSync(join(source.folder, 'x'))).toBe(false);
  });
});

it('has help with an example', async () => {
  const { code, stdout } = await runCli(['copy', '--help'], { cwd: source.folder });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: plant-store copy [^]*Example:\n {2}\$ .*\n {2}\$ plant-store /);
});
