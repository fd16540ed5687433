import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';
import { runHere, type Ran } from '../support/cli.js';

/** The working folder of the commands, new for each test. */
export let cwd: string;

/** Has each test of a file run its commands in a new folder. */
export function makeFolder(): void {
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'plant-store-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));
}

/** Runs a command line in the working folder. */
export const run = (line: string, env: Record<string, string> = {}): Promise<Ran> =>
  runHere(line.split(' '), { cwd, env });
