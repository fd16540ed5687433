/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { makeStore, sqlite as store } from '../../../test/support/own.js';
import { describeMount, moveAside } from './place.js';

makeStore();

it('describeMount names a path that is a mount, not one in it', () => {
  const found = { what: '/proc is itself a mount', effect: 'unsafe' };
  expect(describeMount(['/pro', '/proc/self', '/proc'])).toMatchObject(found);
  expect(describeMount(['/pro', '/proc/self'])).toBeUndefined();
});

it('moveAside names a file that is not there, quoted for a shell', () => {
  const path = `${store.folder}/gardener's`;
  const quoted = (suffix: string) => `'${store.folder}/gardener'\\''s${suffix}'`;
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old')}`);
  for (const suffix of ['.old', '.old-2']) writeFileSync(path + suffix, '');
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old-3')}`);
});
