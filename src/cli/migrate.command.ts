import type { Command } from 'commander';
import { readStoreConfig } from './arguments.js';
import { printResult } from './terminal.js';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('create the store, or bring its schema up to date, as a start of the service does')
    .action(async () => {
      const { migrateStore } = await import('../database/store.js');
      const ran = await migrateStore(readStoreConfig());
      const lines = ran.length > 0 ? ran.map((name) => `ran ${name}`) : ['up to date'];
      await printResult(program, lines.join('\n'), { ran });
    });
}
