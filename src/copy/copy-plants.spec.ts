import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Plant } from '../plants/plant.entity.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { migrateStore } from '../database/open-store.js';
import { readCopyConfig, type CopyConfig } from './copy-config.js';
import { checkPlants } from './check-plants.js';
import { copyPlants } from './copy-plants.js';
import { readPlants, readSame } from './read-plants.js';
import { reportOf } from './report.js';
import { withStores, type Stores } from './stores.js';

const OAK = { id: '2', name: 'oak', tag: null, createdBy: null, createdAt: null };
const OTHER = { ...OAK, name: 'other' };

let files: SqliteStore[];
let config: CopyConfig;
beforeEach(async () => {
  files = [new SqliteStore(), new SqliteStore()];
  const [from = '', to = ''] = files.map(({ url }) => url);
  config = readCopyConfig(from, to);
  await migrateStore(config.from);
  await files[0]?.execute(`
    WITH RECURSIVE row (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM row WHERE i < 2010)
    INSERT INTO plants (id, name, tag) SELECT i, CASE WHEN i > 2000 THEN hex(zeroblob(150000)) ELSE 'oak' END, NULL
    FROM row`);
});
afterEach(() => Promise.all(files.map((file) => file.remove())));

const inStores = <Result>(work: (stores: Stores) => Promise<Result>): Promise<Result> =>
  withStores(config.from, config.to, work);

/** Lets something else write a plant just before our first group. */
function precede({ plants }: Stores, plant: Plant): void {
  const insert = plants.insertAbsent.bind(plants);
  jest.spyOn(plants, 'insertAbsent').mockImplementationOnce(async (group) => {
    await insert([plant]);
    return insert(group);
  });
}

async function lengthsOf(pages: AsyncIterable<Plant[]>): Promise<number[]> {
  const lengths = [];
  for await (const page of pages) lengths.push(page.length);
  return lengths;
}

it('pages are bounded by their plants and by their bytes', async () => {
  await inStores(async ({ source }) => {
    expect(await lengthsOf(readPlants(source))).toEqual([1_000, 1_000, 4, 4, 2]);
    expect(await lengthsOf(readPlants(source, 1_999n, 2_001n))).toEqual([3]);
    const ids = ['1', '5', '2009'].map((id) => ({ ...OAK, id }));
    expect((await lengthsOf(readSame(source, ids))).reduce((sum, n) => sum + n)).toBe(3);
  });
});

describe('an id that something else takes during the copy', () => {
  it('stops it where the plant is another one', async () => {
    await inStores(async (stores) => {
      precede(stores, OTHER);
      await expect(copyPlants(stores, () => undefined)).rejects.toThrow(
        'the target holds other plants under ids of the source: 1 (2); the copy stopped there',
      );
    });
  });

  it('is as good where the plant is the same', async () => {
    await inStores(async (stores) => {
      let copied = 0;
      precede(stores, OAK);
      await copyPlants(stores, (plants) => (copied += plants));
      expect(copied).toBe(2_010);
      const { lines, isSame } = reportOf('plants', await checkPlants(stores, () => undefined));
      expect(isSame).toBe(true);
      expect(lines[1]).toMatch(/^plants in the target: 2010, sha256 [0-9a-f]{64}$/);
    });
  });
});

describe('the check', () => {
  it.each([
    ['lacks a plant', 'DELETE FROM plants WHERE id = 7', 2_009],
    ['holds another name', "UPDATE plants SET name = 'Oak' WHERE id = 7", 2_010],
    ['holds another tag', "UPDATE plants SET tag = '' WHERE id = 7", 2_010],
  ])('sees that the target %s', async (_what, change, count) => {
    await inStores(async (stores) => {
      await copyPlants(stores, () => undefined);
      await stores.target.query(change);
      const check = await checkPlants(stores, () => undefined);
      expect([check.source.count, check.target.count, check.further]).toEqual([2_010, count, 0]);
      expect(reportOf('plants', check).isSame).toBe(false);
    });
  });
});
