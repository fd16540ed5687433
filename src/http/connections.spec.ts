import { expect, it } from '@jest/globals';
import { maxConnections } from './connections.js';

it.each([
  [1, 10_000],
  [16 * 1024, 10_000],
  [64 * 1024, 4_096],
  [128 * 1024, 2_048],
  [2 ** 20, 1_024],
])('bodies of up to %i bytes: %i connections', (bodyLimit, connections) => {
  expect(maxConnections(bodyLimit)).toBe(connections);
});
