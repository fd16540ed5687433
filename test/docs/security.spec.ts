/** @engine sqlite */
import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { read } from '../support/published.js';

describe('SECURITY.md', () => {
  const text = read('SECURITY.md');
  const rows = text.match(/^\| API\d+ .*$/gm) ?? [];
  const tests = text.match(/`(src|test)\/[\w./-]+`/g) ?? [];
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

  it('lists each of the ten risks, with tests', () => {
    expect(rows.map((row) => /API\d+/.exec(row)?.[0])).toEqual(
      Array.from({ length: 10 }, (_, i) => `API${i + 1}`),
    );
    for (const row of rows) expect(row).toMatch(/`(src|test)\//);
  });

  it.each([...new Set(tests)])('%s exists', (quoted) => {
    expect(existsSync(`${quoted.slice(1, -1)}.spec.ts`)).toBe(true);
  });

  it.each([...new Set(text.match(/(?<=`npm run )[\w:]+/g))])('npm run %s exists', (name) => {
    expect(scripts[name]).toBeDefined();
  });
});
