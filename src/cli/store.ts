import type { INestApplicationContext } from '@nestjs/common';
import { createContext } from '../app.js';
import { readConfig } from '../config/read-config.js';
import { migrateStore } from '../database/open-store.js';
import { toOperatorMessage } from '../errors/describe.js';

/**
 * Runs an operator's work on the application without its HTTP interface, and closes it again.
 *
 * @throws Error with a message of one line for the operator
 */
export async function withStore<Result>(
  work: (app: INestApplicationContext) => Promise<Result>,
): Promise<Result> {
  return inWords(async () => {
    const app = await createContext(readConfig());
    try {
      return await work(app);
    } finally {
      await app.close();
    }
  });
}

/**
 * Brings the store's schema up to date.
 *
 * @returns the names of the migrations that were run, in their order
 * @throws Error with a message of one line for the operator
 */
export function migrate(): Promise<string[]> {
  return inWords(() => migrateStore(readConfig()));
}

async function inWords<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const reason = toOperatorMessage(error).replace(':\n', ': ').replaceAll('\n', '; ');
    throw new Error(reason, { cause: error });
  }
}
