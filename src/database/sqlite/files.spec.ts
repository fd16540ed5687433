/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { findMount } from './files.js';

it('findMount finds a path that is a mount, not one in it', () => {
  const advice = 'is itself a mount: mount its folder, with all files of the store';
  expect(findMount(['/pro', '/proc/self', '/proc'])).toBe(`/proc ${advice}`);
  expect(findMount(['/pro', '/proc/self'])).toBeUndefined();
});
