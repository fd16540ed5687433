import type { Command } from 'commander';
import { describeError, describeReason } from '../errors/operator-message.js';
import { readJobConfig } from './arguments.js';
import type { Digests } from './backup-tables.js';
import { printResult } from './terminal.js';

export function addCheckCommand(program: Command): void {
  program
    .command('check')
    .description('read all of the store, and look for damage; exit with 1 if there is some')
    .action(async () => {
      const { StoreSession } = await import('../database/store-session.js');
      const { DamageError } = await import('../database/store-errors.js');
      const { digestTables } = await import('./backup-tables.js');
      await using store = await StoreSession.open(readJobConfig());
      await store.check();
      const damage = store.problems.map(describeError);
      const digests = await digestTables(store).catch((error: unknown): Digests => {
        // What was found explains why rows cannot be read.
        if (damage.length === 0) throw error;
        damage.unshift(describeReason(error));
        return {};
      });
      if (damage.length > 0) throw new DamageError(damage.join('; '));
      const counts = Object.entries(digests).map(([name, { count }]) => `${name}: ${count}`);
      await printResult(program, `${counts.join(', ')}; no damage found`, digests);
    });
}
