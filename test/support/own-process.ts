import { afterAll, beforeAll } from '@jest/globals';
import { ServiceProcess, type Start } from './service-process.js';

/** The service, in a process of its own, of a file's tests, or of those of a `describe`, that calls `startProcess`. */
export let service: ServiceProcess;

/** Starts `service` before all tests, and removes it and its store after them. */
export function startProcess(options?: Start): void {
  beforeAll(async () => {
    service = await ServiceProcess.start(options);
  });
  afterAll(() => service.remove());
}
