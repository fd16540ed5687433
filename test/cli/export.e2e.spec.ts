import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { cli, file, fillWith, makeStores, PLANTS, put, source, target } from './backups.js';
import { runHere, spawnCli } from '../support/cli.js';
import { ENGINE } from '../support/engine.js';
import { Service } from '../support/service.js';
import type { StoredPlant } from '../support/temporary-store.js';

makeStores();

/** Adds plants to the source, and copies it into the store under test. */
async function copy(plants: readonly StoredPlant[]): Promise<void> {
  put(source, plants);
  await cli(source, `backup ${file}`);
  expect(await cli(target, `restore ${file}`)).toMatchObject({ code: 0 });
}

const start = () => spawnCli(['export'], { cwd: target.folder, env: { DATABASE_URL: target.url } });

/** Limits the milliseconds of a transaction for new connections, if the engine has such a limit. */
async function limitTransactions(limit: string): Promise<void> {
  if (ENGINE === 'sqlite') return;
  await target.execute(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET transaction_timeout ${limit}', current_database()); END $$`,
  );
}

/** The line of a plant in a file to import. */
const lineOf = ({ id, name, tag }: StoredPlant): string => {
  const others = JSON.stringify(tag === null ? { name } : { name, tag });
  return `{"id":${id},${others.slice(1)}\n`;
};

describe('export', () => {
  it('writes every plant ordered by id, with every digit', async () => {
    await copy(PLANTS);
    for (const line of ['export', 'export -']) {
      const { code, stdout, stderr } = await cli(target, line);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toBe(PLANTS.map(lineOf).join(''));
    }
  });

  it('tells who created a plant, and when, of one token alone', async () => {
    const created = [
      ['token:6', 1_790_000_000_000, 'Common alder'],
      ["jwt:o'brien\\", 1_790_000_000_001, 'Black alder'],
      [null, null, 'Grey alder'],
      ['token:66', 0, 'Red alder'],
    ] as const;
    const quote = (value: string | number | null) =>
      typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
    const rows = created.map(
      ([by, at, name], id) => `(${id}, ${[by, at, name].map(quote).join()})`,
    );
    await target.execute(
      `INSERT INTO plants (id, created_by, created_at, name) VALUES ${rows.join()}`,
    );
    const run = (args: readonly string[]) =>
      runHere(['export', ...args], { cwd: target.folder, env: { DATABASE_URL: target.url } });
    const read = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as object);
    };
    const all = created.map(([createdBy, createdAt, name], id) =>
      createdBy === null
        ? { id, name }
        : { id, name, createdBy, createdAt: new Date(createdAt).toISOString() },
    );
    expect(await read('--audit')).toEqual(all);
    for (const [id, [by]] of created.entries())
      if (by !== null) expect(await read('--audit', '--by', by)).toEqual([all[id]]);
    expect(await read('--by', 'token:6')).toEqual([{ id: 0, name: 'Common alder' }]);
    expect(await read('--by', 'token:7')).toEqual([]);
    for (const invalid of ['6', 'token:', 'token:6x', 'jwt:', ''])
      expect(await run(['--by', invalid])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('It must be token: and a number of `token list`'),
      });
  });

  it('imported into another store, exports the same bytes again', async () => {
    await source.execute(fillWith(200));
    await copy(PLANTS.filter(({ name }) => name.length < 1_000));
    const stdout = 'plants: 208\n';
    expect(await cli(target, 'export plants.ndjson')).toEqual({ code: 0, stdout, stderr: '' });
    const service = await Service.start();
    const env = {
      PLANT_STORE_URL: `http://127.0.0.1:${service.port}`,
      PLANT_STORE_TOKEN: service.token,
    };
    const summary = { code: 0, stdout: 'sent 208, stored 208, refused 0\n' };
    // The second time each of them is there.
    for (let time = 0; time < 2; time++) {
      const imported = await runHere(['import', 'plants.ndjson'], { cwd: target.folder, env });
      expect(imported).toMatchObject(summary);
    }
    const again = await cli(service.store, 'export');
    expect(again.stdout).toBe(readFileSync(join(target.folder, 'plants.ndjson'), 'utf8'));
    await service.stop();
  });

  it('holds one moment, however slow its reader', async () => {
    await target.execute(fillWith(50_000));
    const before = (await cli(target, 'export')).stdout;
    await limitTransactions('= 300');
    const child = start();
    await once(child.stdout, 'readable');
    await limitTransactions('TO DEFAULT');
    await target.execute('DELETE FROM plants WHERE id > 0');
    await target.execute("INSERT INTO plants (id, name) VALUES (9223372036854775807, 'new')");
    await sleep(400);
    expect(await text(child.stdout)).toBe(before);
    expect(child.exitCode ?? (await once(child, 'exit'))[0]).toBe(0);
  });
});
