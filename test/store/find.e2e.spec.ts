import { describe, expect, it } from '@jest/globals';
import { getRepositoryToken } from '@nestjs/typeorm';
import fc from 'fast-check';
import { LessThan, type Repository } from 'typeorm';
import { Plant } from '../../src/plants/plant.entity.js';
import { PlantsRepository } from '../../src/plants/plants.repository.js';
import { defineColumns } from '../support/columns.js';
import { ENGINE } from '../support/engine.js';
import { service, startService } from '../support/own.js';
import { blockOf } from '../support/published.js';

startService();

/** By what a module injects one. */
const REPOSITORIES = {
  '@InjectRepository(Plant)': getRepositoryToken(Plant),
  PlantsRepository: PlantsRepository,
};

describe.each(Object.entries(REPOSITORIES))('%s', (_name, repository) => {
  const plants = () => service.app.get<Repository<Plant>>(repository);

  it('finds a plant by its id, with every digit', async () => {
    const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const check = async (id: bigint) => {
      const before = BigInt(Date.now());
      expect((await service.client.create({ id, name: 'oak' })).status).toBe(200);
      const found = await plants().findOneBy({ id });
      expect(found).toMatchObject({ id, name: 'oak', tag: null, createdBy: 'token:1' });
      expect(found?.createdAt).toBeGreaterThanOrEqual(before - 60_000n);
      for (const other of [id - 1n, id + 1n].filter((one) => BigInt.asIntN(64, one) === one))
        expect((await plants().findOneBy({ id: other }))?.id).not.toBe(id);
    };
    const examples = [9007199254740993n, 9007199254740992n, -(2n ** 63n), 2n ** 63n - 1n, 0n];
    await fc.assert(fc.asyncProperty(int64, check), {
      numRuns: 30,
      examples: examples.map((id) => [id]),
    });
  });

  it('finds for more at once than the database has sessions, again and again', async () => {
    await service.client.create({ id: 7n, name: 'oak' });
    for (let round = 0; round < 5; round++) {
      const finds = Array.from({ length: 48 }, () => plants().findOneBy({ id: 7n }));
      for (const found of await Promise.all(finds)) expect(found?.id).toBe(7n);
    }
  });

  it('finds plants in their order, and counts them', async () => {
    const found = await plants().find({ where: { id: LessThan(0n) }, order: { id: 'ASC' } });
    const ids = found.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((a, b) => (a < b ? -1 : 1)));
    expect(ids.at(0)).toBe(-(2n ** 63n));
    expect(await plants().countBy({ id: LessThan(0n) })).toBe(ids.length);
  });
});

it('takes plants that docs/operating.md has corrected or removed for what they are', async () => {
  const { client, store } = service;
  for (const id of [3n, 4n]) await client.create({ id, name: 'Alder' });
  const [, sql = ''] =
    /"(.*)"/.exec(blockOf('docs/operating.md', 'Correct or remove a plant')) ?? [];
  await store.execute(sql);
  const status = async (id: bigint, name: string) => (await client.create({ id, name })).status;
  expect(await status(3n, 'Alder')).toBe(400);
  expect(await status(3n, 'Black alder')).toBe(200);
  expect(await status(4n, 'Oak')).toBe(200);
});

const CASELESS = { id: 'bigint PRIMARY KEY NOT NULL', name: 'text COLLATE NOCASE NOT NULL' };
/** SQL that makes the column of names ignore case. Any id may be taken, so that no plant stays. */
const IGNORE_CASE = {
  sqlite: `
    BEGIN IMMEDIATE; DROP TABLE plants;
    CREATE TABLE plants (${defineColumns(Plant, CASELESS)}) WITHOUT ROWID; COMMIT`,
  postgres: `
    DELETE FROM plants;
    CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    ALTER TABLE plants ALTER name TYPE text COLLATE caseless`,
};

it('compares texts exactly, even if an operator has made a column ignore case', async () => {
  const { client, store } = service;
  await store.execute(IGNORE_CASE[ENGINE]);
  expect(await client.create({ id: 5n, name: 'Oak' })).toMatchObject({ status: 200 });
  expect(await store.rows("SELECT 1 FROM plants WHERE id = 5 AND name = 'OAK'")).toHaveLength(1);
  expect(await client.create({ id: 5n, name: 'OAK' })).toMatchObject({ body: { error: 1004 } });
});
