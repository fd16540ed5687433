/** @engine sqlite */
import { Logger } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { readConfig } from '../config/environment.js';
import { StoreUnavailableException } from '../errors/error-codes.js';
import { StoreHealth } from './health.js';

it('a success beside a failure does not end an outage: some plants may be on another server', async () => {
  Logger.overrideLogger(false);
  const health = new StoreHealth(readConfig({}), { probe: () => Promise.resolve() });
  await health.assertAvailable();
  health.recordFailure(new StoreUnavailableException('a server is away'));
  health.markAvailable();
  await expect(health.assertAvailable()).rejects.toMatchObject({ reason: 'a server is away' });
});
