/** @engine sqlite */
import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { read } from '../support/published.js';

describe('SECURITY.md', () => {
  const text = read('SECURITY.md');
  const tests = text.match(/(?<=`)(src|test)\/[\w./-]+(?=`)/g) ?? [];
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

  it.each([...new Set(tests)])('%s exists', (path) => {
    expect(existsSync(`${path}.spec.ts`)).toBe(true);
  });

  it.each([...new Set(text.match(/(?<=`npm run )[\w:]+/g))])('npm run %s exists', (name) => {
    expect(scripts[name]).toBeDefined();
  });
});
