import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds that the store has to break off what is under way. */
const LAST_WAIT = 1_000;

/**
 * Exits with a code once the store broke off what is under way. Where that takes too long the process is
 * killed: a thread that a disk does not answer cannot be ended, and exit() would wait for it.
 */
export async function exitNow(code: number, brokeOff: Promise<void>): Promise<void> {
  await Promise.race([brokeOff.then(() => process.exit(code)), sleep(LAST_WAIT)]);
  process.kill(process.pid, 'SIGKILL');
}
