import type { Command } from 'commander';
import { describeError, describeReason, isDamage } from '../errors/operator-message.js';
import { readJobConfig } from './arguments.js';
import { printResult } from './terminal.js';

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('read all of the store, and look for damage; exit with 1 if there is some')
    .action(async () => {
      const { StoreSession } = await import('../database/store-session.js');
      const { digestTables } = await import('./backup-tables.js');
      await using store = await StoreSession.open(readJobConfig());
      await store.check();
      const problems = store.problems.map(describeError);
      const digests = await digestTables(store).catch((error: unknown) => {
        if (problems.length === 0) throw error;
        // What was found explains why rows are there twice, or cannot be read: its remedies come first.
        if (isDamage(error)) problems.push(describeReason(error));
      });
      if (!digests || problems.length > 0) throw new Error(problems.join('; '));
      const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
      await printResult(program, `${counts.join(', ')}; no damage found`, digests);
    });
}
