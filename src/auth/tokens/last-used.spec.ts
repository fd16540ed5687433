/** @engine sqlite */
import { afterEach, expect, it, jest } from '@jest/globals';
import type { Writer } from '../../database/engine.js';
import { LastUsed } from './last-used.js';

afterEach(() => void jest.useRealTimers());

it('writes each use once, within 10 s or by the time that the service stops', async () => {
  jest.useFakeTimers();
  const written: number[][] = [];
  const query = (_sql: string, [uses]: [string]) => {
    written.push((JSON.parse(uses) as [number, number][]).map(([id]) => id));
    return Promise.resolve([]);
  };
  const statements = { recordUses: () => 'UPDATE' };
  const lastUsed = new LastUsed({ statements, query } as unknown as Writer);
  lastUsed.record(1);
  lastUsed.record(2);
  lastUsed.record(1);
  await jest.advanceTimersByTimeAsync(20_000);
  lastUsed.record(3);
  await lastUsed.onApplicationShutdown();
  // The store is closed by then.
  lastUsed.record(4);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(written).toEqual([[1, 2], [3]]);
});
