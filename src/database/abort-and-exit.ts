import { setTimeout as sleep } from 'node:timers/promises';
import type { WritePath } from './engine.js';

/** Milliseconds that the store has to abort what is in flight. */
const ABORT_TIMEOUT_MS = 1_000;

/**
 * Exits with a code once the store has aborted what is in flight. Where that takes too long the process is
 * killed: a thread that a disk does not answer cannot be ended, and exit() would wait for it.
 */
export async function abortAndExit(code: number, writePath: WritePath): Promise<void> {
  const aborted = writePath.abort().then(() => process.exit(code));
  await Promise.race([aborted, sleep(ABORT_TIMEOUT_MS)]);
  process.kill(process.pid, 'SIGKILL');
}
