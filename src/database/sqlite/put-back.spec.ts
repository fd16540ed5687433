/** @engine sqlite */
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { makeStore, sqlite as store } from '../../../test/support/own.js';
import { identifyFile } from './place.js';
import { describeMoved, moveAside } from './put-back.js';

makeStore();

it('moveAside names a file that is not there, quoted for a shell', () => {
  const path = `${store.folder}/gardener's`;
  const quoted = (suffix: string) => `'${store.folder}/gardener'\\''s${suffix}'`;
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old')}`);
  for (const suffix of ['.old', '.old-2']) writeFileSync(path + suffix, '');
  expect(moveAside(path, 'old')).toBe(`mv ${quoted('')} ${quoted('.old-3')}`);
});

it('describeMoved reads a copy once, and again if it was changed', () => {
  const path = `${store.folder}/file`;
  const bytes = Buffer.alloc(4 * 2 ** 20, 'x');
  writeFileSync(path, bytes);
  const opened = identifyFile(path);
  const descriptor = openSync(path, 'r+');
  const describe = () => {
    const before = countRead();
    const { what } = describeMoved(opened, { file: path, descriptor });
    return { isCopy: what.includes('put back by a copy'), isRead: countRead() - before > 2 ** 20 };
  };
  rmSync(path);
  expect(describe()).toEqual({ isCopy: false, isRead: false });
  writeFileSync(path, bytes.fill('y', bytes.length - 1));
  expect(describe()).toEqual({ isCopy: false, isRead: true });
  expect(describe()).toEqual({ isCopy: false, isRead: false });
  rmSync(path);
  writeFileSync(path, bytes.fill('x'));
  expect(describe()).toEqual({ isCopy: true, isRead: true });
  expect(describe()).toEqual({ isCopy: true, isRead: false });
  writeSync(descriptor, 'z', 0);
  expect(describe()).toEqual({ isCopy: false, isRead: true });
  closeSync(descriptor);
});

/** How many bytes this process has read. */
function countRead(): number {
  return Number(/rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}
