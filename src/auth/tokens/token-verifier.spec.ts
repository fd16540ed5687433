import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { Service } from '../../../test/support/service.js';
import { ERRORS } from '../../errors/error-codes.js';
import { createSecret } from './token.entity.js';
import { TokenVerifier } from './token-verifier.js';

it('unknown tokens beyond the limit are refused, and a known one does not wait behind them', async () => {
  const service = await Service.start();
  const verifier = service.app.get(TokenVerifier);
  expect((await verifier.verify(service.token))?.name).toBe('test');
  // It must be looked up again.
  await sleep(4_100);
  const unknown = Array.from({ length: 1_100 }, createSecret);
  const outcomes = await Promise.allSettled(
    [...unknown, service.token].map((secret) => verifier.verify(secret)),
  );
  // One is looked up at once, and those that may wait follow.
  expect(outcomes.slice(0, 1_025)).toEqual(
    unknown.slice(0, 1_025).map(() => ({ status: 'fulfilled', value: undefined })),
  );
  expect(outcomes.slice(1_025, -1)).toMatchObject(
    unknown.slice(1_025).map(() => ({ reason: { kind: ERRORS.OVERLOADED } })),
  );
  expect(outcomes.at(-1)).toMatchObject({ value: { name: 'test' } });
  await service.stop();
});
