/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { cli, makeStore, store } from '../support/own.js';
import { openStoreOf } from '../support/released-store.js';
import { NAMES, show, typeorm } from '../support/typeorm-cli.js';

makeStore();

it('migration:revert goes back step by step, as long as nothing is stored', async () => {
  await cli('migrate');
  const last = NAMES.at(-1);
  const reverted = await typeorm('migration:revert');
  expect(reverted).toMatchObject({ code: 0, stderr: '' });
  expect(reverted.stdout).toContain(`Migration ${last} has been reverted successfully.`);
  expect((await typeorm('migration:show')).stdout).toContain(`[ ] ${last}`);
  expect((await cli('migrate')).stdout).toBe(`ran ${last}\n`);
  for (let left = NAMES.length; left > 0; left--)
    expect((await typeorm('migration:revert')).code).toBe(0);
  expect((await typeorm('migration:show')).stdout).toBe(show(' '));
  expect((await cli('migrate')).code).toBe(0);
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
    expect((await cli('migrate')).stdout).toContain(`ran ${NAMES[1]}`);
    expect(await store.count()).toBe(3);
  },
);
