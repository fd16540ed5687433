import { afterAll, beforeAll } from '@jest/globals';
import { Service } from './service.js';

/** The service of a file's tests, or of those of a `describe`, that calls `startService`. */
export let service: Service;

/** Starts `service` before all tests, and stops it after them. */
export function startService(env?: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    service = await Service.start(env);
  });
  afterAll(() => service.stop());
}
