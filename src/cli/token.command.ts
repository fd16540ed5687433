import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import { duration } from '../config/parsers.js';
import { toArgument, toTokenName } from './arguments.js';

const DAY_MS = 86_400_000;

/** Both commands that issue a token have it. */
const EXPIRES_OPTION = [
  '--expires <duration>',
  'how long the new token is valid: 45s, 30m, 12h, 90d or 2w',
  toArgument(duration('1s', '99999w')),
] as const;

interface Options {
  readonly expires?: number;
  readonly overlap?: number;
  readonly all?: true;
}

/** Loads TypeORM, which takes longer than all the rest. */
const load = () => import('./token-actions.js');

export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .description('create, list, verify, rotate and revoke bearer tokens');

  token
    .command('create')
    .description('create a token and print it, alone, on stdout: it cannot be shown again')
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-', toTokenName)
    .option(...EXPIRES_OPTION)
    .action(async (name: string, { expires }: Options) => {
      await (await load()).createToken(token, name, expires);
    });

  token
    .command('list')
    .description('list tokens, without secrets, and warn of those that expire within 14 days')
    .option('--all', 'also those that were revoked or expired more than 30 days ago')
    .action(async ({ all }: Options) => (await load()).listTokens(token, all));

  token
    .command('verify')
    .description('tell which token is on the standard input; exit with 1 unless it is active')
    .addHelpText('after', `\nExample:\n  $ echo "$TOKEN" | ${COMMAND} token verify`)
    .allowExcessArguments()
    .action(async (_options: Options, verify: Command) => {
      if (verify.args.length > 0)
        verify.error('error: give the token on the standard input: others can see arguments');
      await (await load()).verifyToken(verify);
    });

  token
    .command('rotate')
    .description('create another token of a name, with the lifetime of the old one, and print it')
    .argument('<name>', 'its name, as list shows it', toTokenName)
    .option(
      '--overlap <duration>',
      'how long the old one still works, by default 24h; 0s ends it at once',
      toArgument(duration('0s', '99999w')),
    )
    .option(...EXPIRES_OPTION)
    .action(async (name: string, { overlap = DAY_MS, expires }: Options) => {
      await (await load()).rotateToken(token, name, overlap, expires);
    });

  token
    .command('revoke')
    .description('revoke a token, all of a name, or all: they stop working within 5 seconds')
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option('--all', 'every token, as after a leak')
    .action(async (which: string | undefined, { all }: Options, revoke: Command) => {
      if ((which === undefined) !== Boolean(all))
        revoke.error('error: give a name, an id or --all, and one of them only');
      await (await load()).revokeTokens(revoke, which);
    });
}
