import type { Command } from 'commander';

/** `migrate`: for a deployment that changes the schema before it starts the service. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary("bring the store's schema up to date")
    .description(
      "Bring the store's schema up to date, and list the migrations that were run. The service does " +
        'the same when it starts; this is for doing it before.',
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ DATABASE_URL=sqlite:/srv/plants.sqlite plant-store migrate',
    )
    .action(async () => {
      const { readConfig } = await import('../config/read-config.js');
      const { migrateStore } = await import('../database/open-store.js');
      const names = await migrateStore(readConfig());
      const lines = names.length > 0 ? names.map((name) => `ran ${name}`) : ['up to date'];
      process.stdout.write(`${lines.join('\n')}\n`);
    });
}
