import { expect } from '@jest/globals';

/**
 * How much a test repeats, or how long it goes on: few in `npm test`, all in `npm run test:long`.
 *
 * @throws Error in a file that `npm run test:long` does not run, where it would always be few
 */
export function rounds(few: number, all: number): number {
  const { testPath } = expect.getState();
  if (!testPath?.includes('/test/long/')) throw new Error(`${testPath} is not in test/long`);
  return process.env.TEST_LONG === 'on' ? all : few;
}
