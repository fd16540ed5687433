import { Option, type Command } from 'commander';
import { duration, durationOrNone } from './arguments.js';
import { withTokens } from './with-tokens.js';

interface Options {
  readonly overlap: number;
  readonly expires?: number;
}

const DESCRIPTION =
  'Create another token of a name and print it, alone, on stdout; it cannot be shown again. The old ' +
  'one goes on for the overlap, so that its holder can change over, but no longer than it would ' +
  'have. The new one holds as long as the old one was made to hold.';

/** `token rotate`. */
export function addRotateCommand(token: Command): void {
  token
    .command('rotate')
    .summary('replace a token and print the new one')
    .description(DESCRIPTION)
    .argument('<name>', 'its name, as list shows it')
    .addOption(
      new Option('--overlap <duration>', 'how long the old one goes on; 0s ends it at once')
        .default(duration('24h'), '24h')
        .argParser(durationOrNone),
    )
    .option(
      '--expires <duration>',
      'how long the new one holds: 45s, 30m, 12h, 90d or 2w',
      duration,
    )
    .addHelpText('after', '\nExample:\n  $ plant-store token rotate nursery --overlap 2d')
    .action(async (name: string, { overlap, expires }: Options) => {
      const secret = await withTokens((tokens) => tokens.rotate(name, overlap, expires));
      process.stdout.write(`${secret}\n`);
    });
}
