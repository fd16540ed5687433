/** @engine sqlite */
import { writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { makeStore, sqlite as store } from '../../../test/support/own.js';
import { moveAside } from './put-back.js';

makeStore();

it('moveAside names a file that is not there, quoted for a shell', () => {
  const path = `${store.folder}/gardener's`;
  const quoted = (suffix: string) => `'${store.folder}/gardener'\\''s${suffix}'`;
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old')}`);
  for (const suffix of ['.old', '.old-2']) writeFileSync(path + suffix, '');
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old-3')}`);
});
