/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { describeMount } from './place.js';

it('describeMount names a path that is a mount, not one in it', () => {
  const found = { what: '/proc is itself a mount', effect: 'unsafe' };
  expect(describeMount(['/pro', '/proc/self', '/proc'])).toMatchObject(found);
  expect(describeMount(['/pro', '/proc/self'])).toBeUndefined();
});
