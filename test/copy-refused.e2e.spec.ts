import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runHere } from './support/cli-in-process.js';
import { copy, createStores, makeToken, PLANTS, put, tokens } from './support/copying.js';
import type { SqliteStore } from './support/sqlite-store.js';
import type { TemporaryStore } from './support/temporary-store.js';

let source: SqliteStore;
let target: TemporaryStore;
beforeEach(async () => {
  [source, target] = await createStores();
});
afterEach(async () => {
  await source.remove();
  await target.remove();
});

describe('a copy is refused', () => {
  it('where the target has ids with different content, and names the first few', async () => {
    put(
      source,
      Array.from({ length: 9 }, (_, i) => ({ id: BigInt(i), name: 'plant', tag: null })),
    );
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
        'error: the target has ids of the source with different content: ' +
        '6 (1, 2, 3, 4, 5, …); nothing was copied\n',
    });
    expect(await target.plants()).toEqual(before);
    expect(await tokens(target)).toEqual([]);
  });

  it('where the target has a token under a different name', async () => {
    await makeToken(source, 'mine');
    expect((await copy(source, target)).code).toBe(0);
    await target.execute("UPDATE tokens SET name = 'yours'");
    put(source, PLANTS);
    const { code, stderr } = await copy(source, target);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: the target has tokens of the source with a different name or time of creation: ' +
        '1 (mine); nothing was copied\n',
    );
    expect(await target.count()).toBe(0);
  });

  it.each(['missing.sqlite', 'no/folder/store.sqlite'])(
    'from %s, which is not made',
    async (to) => {
      const args = ['copy', '--from', `sqlite:${to}`, '--to', target.url];
      expect(await runHere(args, { cwd: source.folder })).toEqual({
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
        'error: --from: the store cannot be opened: it is not a plant store with an up-to-date schema: run `plant-store migrate` on it\n',
    });
    expect(readFileSync(source.path).equals(before)).toBe(true);
  });

  it('from a store that is to be migrated first', async () => {
    await source.execute('DELETE FROM migrations');
    const { code, stderr } = await copy(source, target);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: --from: [^\n]*with an up-to-date schema: run `plant-store migrate`[^\n]*\n$/,
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
    const { code, stdout, stderr } = await runHere(['copy', ...args], { cwd: source.folder });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('SECRET');
  });
});

describe('a server that cannot be reached', () => {
  const UNREACHABLE = 'postgres://u:SECRET@127.0.0.1:1/d';
  it.each([
    ['--from', { COPY_FROM: UNREACHABLE, COPY_TO: 'sqlite:x' }],
    ['--to', { COPY_FROM: 'sqlite:./data/store.sqlite', COPY_TO: UNREACHABLE }],
  ])('is named as %s, without its password', async (option, env) => {
    const { code, stdout, stderr } = await runHere(['copy'], { cwd: source.folder, env });
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `error: ${option}: the store cannot be opened: connect ECONNREFUSED 127.0.0.1:1\n`,
    });
    expect(existsSync(join(source.folder, 'x'))).toBe(false);
  });
});

it('has help with an example', async () => {
  const { code, stdout } = await runHere(['copy', '--help'], { cwd: source.folder });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: plant-store copy [^]*Example:\n {2}\$ .*\n {2}\$ plant-store /);
});
