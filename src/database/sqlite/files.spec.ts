/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { describeMount } from './files.js';

it('describeMount names a path that is a mount, not one in it', () => {
  const advice = 'is itself a mount: mount its folder, with all files of the store';
  expect(describeMount(['/pro', '/proc/self', '/proc'])).toBe(`/proc ${advice}`);
  expect(describeMount(['/pro', '/proc/self'])).toBeUndefined();
});
