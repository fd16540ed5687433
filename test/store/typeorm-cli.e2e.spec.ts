import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { MIGRATIONS } from '../../src/database/schema.js';
import { untilEnd } from '../support/cli.js';
import { cli, makeStore, store } from '../support/own.js';
import { openStoreOf } from '../support/released-store.js';

makeStore();

/** Runs a command of TypeORM on the store, as `npm run typeorm` does. */
async function typeorm(line: string) {
  const program = [resolve('node_modules/typeorm/cli.js'), '-d', resolve('dist/ormconfig.js')];
  const env = { PATH: process.env.PATH, DATABASE_URL: store.url };
  return untilEnd(
    spawn(process.execPath, [...program, ...line.split(' ')], { cwd: store.folder, env }),
  );
}

const names = MIGRATIONS.map(({ name }) => name);
const show = (mark: string) => names.map((name) => `[${mark}] ${name}\n`).join('');

it('migration:show lists what has run, and migration:run does what migrate does', async () => {
  expect(await typeorm('migration:show')).toEqual({ code: 0, stdout: show(' '), stderr: '' });
  const ran = names.map((name) => `ran ${name}\n`).join('');
  const first = await typeorm('migration:run');
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toContain(ran);
  expect(await typeorm('migration:show')).toMatchObject({ code: 0, stdout: show('X') });
  expect((await typeorm('migration:run')).stdout).toContain('up to date\n');
  expect((await cli('migrate')).stdout).toBe('up to date\n');
  expect((await cli('check')).code).toBe(0);
});

it('migration:run refuses a store that has lost a table, and changes nothing', async () => {
  await cli('migrate');
  await store.execute('DROP TABLE plants');
  const { code, stderr } = await typeorm('migration:run');
  expect(code).toBe(1);
  expect(stderr).toContain('the store cannot be opened');
  expect(await store.rows('SELECT * FROM tokens')).toEqual([]);
});

it('migration:revert goes back step by step, as long as nothing is stored', async () => {
  await cli('migrate');
  const last = names.at(-1);
  const reverted = await typeorm('migration:revert');
  expect(reverted).toMatchObject({ code: 0, stderr: '' });
  expect(reverted.stdout).toContain(`Migration ${last} has been reverted successfully.`);
  expect((await typeorm('migration:show')).stdout).toContain(`[ ] ${last}`);
  expect((await cli('migrate')).stdout).toBe(`ran ${last}\n`);
  for (let left = names.length; left > 0; left--)
    expect((await typeorm('migration:revert')).code).toBe(0);
  expect((await typeorm('migration:show')).stdout).toBe(show(' '));
  expect((await cli('migrate')).code).toBe(0);
});

/** Reverts migrations until one is refused. Returns the refusal. */
async function revertUntilRefused(): Promise<string> {
  for (let left = names.length; left > 0; left--) {
    const { code, stderr } = await typeorm('migration:revert');
    if (code === 1) return stderr;
  }
  throw new Error('every migration was reverted');
}

it('migration:revert refuses to drop a column that has values, and loses nothing', async () => {
  await cli('migrate');
  await store.execute("INSERT INTO plants (id, name) VALUES (7, 'oak')");
  await store.execute('INSERT INTO backups (id, finished_at) VALUES (1, 5)');
  expect(await revertUntilRefused()).toContain(
    'backups.id, backups.finished_at would be lost; make a backup',
  );
  expect(await store.rows('SELECT id FROM backups')).toHaveLength(1);
  await store.execute('DELETE FROM backups');
  expect(await revertUntilRefused()).toContain('plants.id, plants.name would be lost');
  expect((await typeorm('migration:show')).stdout).toContain('[ ] CreateBackups');
  expect((await typeorm('migration:show')).stdout).toContain(`[X] ${names[0]}`);
  expect((await cli('migrate')).code).toBe(0);
  expect((await cli('export')).stdout).toBe('{"id":7,"name":"oak"}\n');
});

it.each([
  ['schema:sync', 'run `bin/plant-store migrate`'],
  ['schema:drop', 'it would drop every plant'],
  ['migration:run --fake', 'run `bin/plant-store migrate`'],
  ['migration:revert --fake', 'revert without it'],
])('%s is refused, and the plants stay', async (line, advice) => {
  await cli('migrate');
  await store.execute("INSERT INTO plants (id, name) VALUES (7, 'oak')");
  const { code, stderr } = await typeorm(line);
  expect(code).toBe(1);
  expect(stderr).toContain(advice);
  expect(await store.plants()).toEqual([{ id: 7n, name: 'oak', tag: null }]);
  expect((await cli('check')).code).toBe(0);
});

it.each(['migration:show', 'migration:revert'])(
  '%s does no harm to a store of 1.0.0, which has no list of its own yet',
  async (line) => {
    await openStoreOf('1.0.0');
    const { code } = await typeorm(line);
    expect(code).toBe(line === 'migration:show' ? 0 : 1);
    expect((await cli('migrate')).stdout).toContain(`ran ${names[1]}`);
    expect(await store.count()).toBe(3);
  },
);
