import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { runHere, type Ran } from '../support/cli.js';
import { Service } from '../support/service.js';

/** The report of an import that stopped at its first line. */
export const NOTHING =
  'sent 0, stored 0, refused 0\nstopped after line 0; importing again is safe\n';

/** NDJSON of `count` plants. Their ids are equal as doubles. */
export function plants(count: number): string {
  const ids = Array.from({ length: count }, (_, i) => 2n ** 53n + BigInt(i));
  return ids.map((id) => `{"id": ${id}, "name": "plant ${id}", "tag": "木"}\n`).join('');
}

/** The service to import into; new for each test of a file that calls `startServices`. */
export let service: Service;

/** Starts `service` before each test of the file, and stops it after it. */
export function startServices(): void {
  beforeEach(async () => {
    service = await Service.start();
  });
  afterEach(() => service.stop());
}

/** The variables that name `service`, or another port, and its token. */
export const variables = (port = service.port) => ({
  PLANT_STORE_URL: `http://127.0.0.1:${port}`,
  PLANT_STORE_TOKEN: service.token,
});

/** Imports a text quietly, with further arguments. */
export function importing(input: string, args: string[] = [], port = service.port): Promise<Ran> {
  const cwd = service.store.folder;
  writeFileSync(join(cwd, 'input.ndjson'), input);
  return runHere(['import', 'input.ndjson', ...args], { cwd, env: variables(port) });
}
