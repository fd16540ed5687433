import { expect, it } from '@jest/globals';
import { cli, makeStore, store } from '../support/own.js';
import { NAMES, show, typeorm } from '../support/typeorm-cli.js';

makeStore();

it('migration:show lists what has run, and migration:run does what migrate does', async () => {
  expect(await typeorm('migration:show')).toEqual({ code: 0, stdout: show(' '), stderr: '' });
  const ran = NAMES.map((name) => `ran ${name}\n`).join('');
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

/** Reverts migrations until one is refused. Returns the refusal. */
async function revertUntilRefused(): Promise<string> {
  for (let left = NAMES.length; left > 0; left--) {
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
  const { stdout } = await typeorm('migration:show');
  expect(stdout).toContain('[ ] CreateBackups');
  expect(stdout).toContain(`[X] ${NAMES[0]}`);
  expect((await cli('migrate')).code).toBe(0);
  expect((await cli('export')).stdout).toBe('{"id":7,"name":"oak"}\n');
});
