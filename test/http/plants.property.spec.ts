import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newPlant, post } from './generators.js';
import { service, startService } from '../support/own.js';

startService();

it('any NewPlant that the schema allows is accepted, stored and returned exactly, and so is its repeat', async () => {
  const seen = new Set<bigint>();
  await fc.assert(
    fc.asyncProperty(newPlant, async ({ written: { id }, name, tag, json }) => {
      fc.pre(!seen.has(id));
      seen.add(id);
      const plant = tag === undefined ? { name } : { name, tag };
      for (let time = 0; time < 2; time++) {
        const { status, body } = await post(json);
        expect({ status, body }).toEqual({ status: 200, body: plant });
        expect(await service.store.plant(id)).toEqual({ id, name, tag: tag ?? null });
      }
    }),
    { numRuns: 300 },
  );
  expect(await service.store.count()).toBe(seen.size);
});
