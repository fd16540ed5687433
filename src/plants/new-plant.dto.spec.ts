import { expect, it } from '@jest/globals';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { isNewPlant, NewPlantDto } from './new-plant.dto.js';

const MAX = 2n ** 63n;
const TEXT = [fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), fc.constant('\0')];
const OTHER = [fc.constantFrom(null, undefined, '\ud800', 7, 1.5, true), fc.anything()];

it('finds a fault where class-validator does, and nowhere else', () => {
  const id = fc.oneof(fc.bigInt(-MAX - 2n, MAX + 1n), fc.constantFrom(-MAX, MAX - 1n), ...OTHER);
  const fields = fc.record({
    id,
    name: fc.oneof(...TEXT, ...OTHER),
    tag: fc.oneof(...TEXT, ...OTHER),
  });
  fc.assert(
    fc.property(fields, (plant) => {
      const errors = validateSync(Object.assign(new NewPlantDto(), plant));
      expect(isNewPlant(plant)).toBe(errors.length === 0);
    }),
    { numRuns: 2_000 },
  );
});
