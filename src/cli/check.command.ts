import type { Command } from 'commander';
import { describeError } from '../errors/operator-message.js';
import { readJobConfig } from './arguments.js';
import { printResult } from './terminal.js';

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('read all of the store, and look for damage; exit with 1 if there is some')
    .action(async () => {
      const { StoreSession } = await import('../database/store-session.js');
      const { digestTables, warnOfProblems } = await import('./backup-tables.js');
      await using store = await StoreSession.open(readJobConfig());
      await store.check();
      const digests = await digestTables(store).catch((error: unknown) => {
        // What was found may explain why rows cannot be read.
        warnOfProblems(store);
        throw error;
      });
      if (store.problems.length > 0) throw new Error(store.problems.map(describeError).join('; '));
      const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
      await printResult(program, `${counts.join(', ')}; no damage found`, digests);
    });
}
