/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { findMount } from './files.js';

it('findMount finds a path that is a mount, not one in it', () => {
  expect(findMount(['/pro', '/proc/self', '/proc'])).toBe('/proc');
  expect(findMount(['/pro', '/proc/self'])).toBeUndefined();
});
