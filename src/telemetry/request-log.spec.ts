/** @engine sqlite */
import { expect, it } from '@jest/globals';
import { pino } from 'pino';
import { FailureLimit, MAX_LINES_PER_SECOND } from './request-log.js';

const range = (length: number) => Array.from({ length }, (_, i) => i);

/** Creates a limit and the list of the lines that it writes. */
function createLimit() {
  const written: object[] = [];
  const write = (line: string) => void written.push(JSON.parse(line) as object);
  return { written, limit: new FailureLimit(pino({ base: null, timestamp: false }, { write })) };
}

it('each error number has at most ten lines a second, and one for the sum of the others', async () => {
  const { limit, written } = createLimit();
  for (const error of [2000, 5002, undefined]) {
    const level = error === 5002 ? 'error' : 'info';
    const admitted = range(MAX_LINES_PER_SECOND + 3).filter(() => limit.admits(level, error));
    expect(admitted).toEqual(range(MAX_LINES_PER_SECOND));
  }
  expect(limit.admits('info', 1000)).toBe(true);
  expect(written).toEqual([]);
  while (written.length < 3) await new Promise(setImmediate);
  const msg = 'further failures were not logged (3)';
  expect(written).toEqual([
    { level: 30, context: 'Request', error: 2000, requests: 3, msg },
    { level: 50, context: 'Request', error: 5002, requests: 3, msg },
    { level: 30, context: 'Request', requests: 3, msg },
  ]);
  expect(limit.admits('info', 2000)).toBe(true);
});
