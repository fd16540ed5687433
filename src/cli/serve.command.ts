import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';

/** `serve`: starts the service. @param start loads main.ts, which does it */
export function addServeCommand(program: Command, start: () => Promise<unknown>): void {
  program
    .command('serve')
    .summary('start the service (the default)')
    .description(
      'Start the service in the foreground. SIGTERM or SIGINT stops it, once every request in progress has its response.',
    )
    .addHelpText('after', `\nExample:\n  $ PORT=8080 ${COMMAND} serve`)
    .configureHelp({
      showGlobalOptions: true,
      // The others are of no use here.
      visibleGlobalOptions: () => program.options.filter(({ long }) => long === '--env-file'),
    })
    .action(async () => {
      await start();
    });
}
