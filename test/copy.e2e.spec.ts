import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cli,
  copy,
  createStores,
  done,
  END,
  makeToken,
  PLANTS,
  put,
  tokens,
} from './support/copying.js';
import { ServiceProcess } from './support/service-process.js';
import { SqliteStore } from './support/sqlite-store.js';
import type { TemporaryStore } from './support/temporary-store.js';

const CLI = fileURLToPath(new URL('../dist/src/cli.js', import.meta.url));
/** Rows that make pages: `{1}` is how many. */
const MANY = `
  WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < {1})
  INSERT INTO plants (id, name, tag)
  SELECT (i - 1000) * 92233720368547 + 3, 'plant ' || i, 't' || i % 7 FROM row`;

let source: SqliteStore;
let target: TemporaryStore;
beforeEach(async () => {
  [source, target] = await createStores();
});
afterEach(async () => {
  await source.remove();
  await target.remove();
});

describe('a copy', () => {
  it('has every plant and every token, there and back', async () => {
    put(source, PLANTS);
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
    put(source, PLANTS.slice(0, 3));
    expect((await copy(source, target)).code).toBe(0);
    put(source, PLANTS.slice(3));
    await target.execute("INSERT INTO plants (id, name, tag) VALUES (77, 'own', NULL)");
    const again = await copy(source, target);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(again.stdout).toMatch(done(PLANTS.length, 0, ', plus 1 more'));
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
    expect(first.stdout).not.toContain('different');
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
    expect(stdout).toMatch(
      done(1, 1, ', 1 with a different creator or time, plus 1 more', ', plus 1 more'),
    );
    expect(await trail(target)).toEqual(before);
  });
});
