/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { describeMount, findAlias } from './place.js';

it('describeMount names a path that is a mount, not one in it', () => {
  const found = { what: '/proc is itself a mount', effect: 'unsafe' };
  expect(describeMount(['/pro', '/proc/self', '/proc'])).toMatchObject(found);
  expect(describeMount(['/pro', '/proc/self'])).toBeUndefined();
  // The mount is the reason, not the other names that it has.
  expect(findAlias('/proc')).toMatchObject(found);
});
