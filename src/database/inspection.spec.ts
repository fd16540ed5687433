import { Logger } from '@nestjs/common';
import { afterEach, expect, it, jest } from '@jest/globals';
import type { Config } from '../config/config.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { StoreInspection } from './inspection.js';
import { KeptOutException, StoreProblem } from './store-errors.js';

const problem = new StoreProblem({
  effect: 'hidden',
  what: 'there are two stores',
  remedy: 'rename one',
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

function inspectionThat(inspect: () => Promise<void>): StoreInspection {
  const config = { waitTimeoutMs: 1_000 } as Config;
  return new StoreInspection(config, { inspect, commitNothing: () => Promise.resolve() });
}

it.each([
  new KeptOutException('kept out'),
  new Error('there is no unique constraint matching the ON CONFLICT specification'),
  new Error('no such table: plants'),
  Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT_VTAB' }),
  Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' }),
  Object.assign(new Error('no right'), { code: '42501' }),
])(
  'the reason of what may be a symptom is the problem that an inspection finds: %s',
  async (error) => {
    const inspection = inspectionThat(() => Promise.reject(problem));
    expect(await inspection.explainFailure(error)).toBe(problem);
    // From then on nothing is tried.
    expect(() => inspection.assertSound()).toThrow(problem);
  },
);

it('if an inspection finds nothing, a plant that is kept out has its own reason', async () => {
  const inspection = inspectionThat(() => Promise.resolve());
  const error = new KeptOutException('kept out');
  expect(await inspection.explainFailure(error)).toBe(error);
});

it('what the inspection in progress finds is the reason, though the next one may find nothing', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const results = [promise];
  const inspection = inspectionThat(() => results.shift() ?? Promise.resolve());
  const available = inspection.assertAvailable().catch((error: unknown) => error);
  const explained = inspection.explainFailure(new Error('a column must not be null'));
  reject(problem);
  expect(await explained).toBe(problem);
  await available;
});

it('a failure that has a reason does not wait for an inspection', async () => {
  const inspection = inspectionThat(() => Promise.reject(problem));
  const error = new StoreUnavailableException('the connection broke');
  expect(await inspection.explainFailure(error)).toBe(error);
  expect(() => inspection.assertSound()).not.toThrow();
});

it('the log warns once creates have committed for ten seconds without an inspection that ends', async () => {
  jest.useFakeTimers();
  const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  const inspection = inspectionThat(() => new Promise(() => undefined));
  inspection.onModuleInit();
  const commitFor = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await jest.advanceTimersByTimeAsync(1_000);
      inspection.recordCommit();
    }
  };
  await commitFor(10);
  expect(error).not.toHaveBeenCalled();
  await commitFor(5);
  expect(error.mock.calls).toEqual([
    [expect.stringMatching(/^the inspection of the store is unavailable: /)],
  ]);
  expect(() => inspection.assertSound()).not.toThrow();
});
