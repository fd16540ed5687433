import { expect, it } from '@jest/globals';
import { stageLine } from './stage.js';

it.each([
  [0, 200, 'copying [                        ]   0 % 0 of 200 plants, 0/s'],
  [100, 200, 'copying [============            ]  50 % 100 of 200 plants, 50/s'],
  // More were stored after they were counted.
  [300, 200, 'copying [========================] 100 % 300 of 200 plants, 150/s'],
  [0, 0, 'copying [========================] 100 % 0 of 0 plants, 0/s'],
])('a stage with %i of %i plants done is shown in one line', (done, total, line) => {
  expect(stageLine('copying', done, total, 2)).toBe(line);
});
