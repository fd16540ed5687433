import { describe, expect, it } from '@jest/globals';
import { readCopyConfig } from './stores.js';

const FILE = 'sqlite:./data/store.sqlite';

describe('readCopyConfig', () => {
  it('takes either engine on either side, with time for long statements', () => {
    const { from, to } = readCopyConfig(FILE, 'postgres://u:p@h/d?sslmode=require');
    expect(from).toMatchObject({ databaseUrl: FILE, databaseTimeout: 60_000 });
    expect(to.databaseUrl).toBe('postgres://u:p@h/d?sslmode=require');
    expect(readCopyConfig('postgres://h/d', FILE).to.databaseUrl).toBe(FILE);
  });

  it.each([
    ['', FILE, /^--from is empty$/],
    [FILE, '', /^--to is empty$/],
    ['mysql://u:SECRET@h/d', FILE, /^--from must be sqlite: and the path of a file, or /],
    [FILE, 'postgres://u:SECRET@h', /^--to must be sqlite: and the path of a file, or /],
    [FILE, 'SECRET', /^--to must be /],
    [FILE, 'sqlite:data/../data/store.sqlite', /^--from and --to are the same store$/],
    ['postgres://u:SECRET@h/d', 'postgresql://v@h/d', /^--from and --to are the same store$/],
  ])('refuses %s with %s, without a password', (from, to, message) => {
    expect(() => readCopyConfig(from, to)).toThrow(message);
    expect(() => readCopyConfig(from, to)).not.toThrow(/SECRET/);
  });

  it('lets two databases of one server be two stores', () => {
    const { from, to } = readCopyConfig('postgres://u:p@h/a', 'postgres://u:p@h/b');
    expect([from.databaseUrl, to.databaseUrl]).toEqual([
      'postgres://u:p@h/a',
      'postgres://u:p@h/b',
    ]);
  });
});
