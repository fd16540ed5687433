import { Option, type Command } from 'commander';
import type { TokensService } from '../auth/tokens.service.js';
import { duration, durationOrZero, instant } from './arguments.js';

const REVOKE_NOTES = `
A date is its midnight in UTC; a time says its zone.

Examples:
  $ plant-store token revoke nursery
  $ plant-store token revoke --all-created-before 2026-11-21
  $ plant-store token revoke --all-created-before 2026-11-21T13:40:00+01:00`;

/** `token create`, `token list`, `token rotate` and `token revoke`. */
export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .summary('create, list, rotate and revoke tokens')
    .description('Create, list, rotate and revoke the bearer tokens that the service accepts');
  addCreateCommand(token);
  addListCommand(token);
  addRotateCommand(token);
  addRevokeCommand(token);
}

function addCreateCommand(token: Command): void {
  token
    .command('create')
    .summary('create a token and print it')
    .description(
      'Create a token and print it, alone, on stdout. It cannot be shown again: the store ' +
        'keeps only its hash.',
    )
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-')
    .option('--expires <duration>', 'how long it is valid: 45s, 30m, 12h, 90d or 2w', duration)
    .addHelpText('after', '\nExample:\n  $ plant-store token create nursery --expires 90d')
    .action(async (name: string, { expires }: { expires?: number }) => {
      print(await withTokens((tokens) => tokens.create(name, expires)));
    });
}

function addListCommand(token: Command): void {
  token
    .command('list')
    .summary('list the tokens')
    .description(
      'List every token that is or was, without secrets; times are UTC. On stderr is a line for each ' +
        'that expires within 14 days and was not rotated yet',
    )
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nExample:\n  $ plant-store token list --json')
    .action(async ({ json }: { json?: true }) => {
      const { asJson, asTable, warningsOf } = await import('./token-list.js');
      const all = await withTokens((tokens) => tokens.list());
      const now = Date.now();
      print(json ? asJson(all, now) : asTable(all, now));
      for (const warning of warningsOf(all, now)) process.stderr.write(`${warning}\n`);
    });
}

function addRotateCommand(token: Command): void {
  token
    .command('rotate')
    .summary('replace a token and print the new one')
    .description(
      'Create another token of a name and print it, alone, on stdout; it cannot be shown again. The ' +
        'old one stays valid for the overlap, so that its holder can change over, but no longer than ' +
        'it would have. The new one is valid for as long as the old one was when it was created.',
    )
    .argument('<name>', 'its name, as list shows it')
    .addOption(
      new Option('--overlap <duration>', 'how long the old one stays valid; 0s ends it at once')
        .default(duration('24h'), '24h')
        .argParser(durationOrZero),
    )
    .option(
      '--expires <duration>',
      'how long the new one is valid: 45s, 30m, 12h, 90d or 2w',
      duration,
    )
    .addHelpText('after', '\nExample:\n  $ plant-store token rotate nursery --overlap 2d')
    .action(async (name: string, options: { overlap: number; expires?: number }) => {
      const { overlap, expires } = options;
      print(await withTokens((tokens) => tokens.rotate(name, overlap, expires)));
    });
}

function addRevokeCommand(token: Command): void {
  token
    .command('revoke')
    .summary('revoke a token, or all that are old')
    .description(
      'Revoke a token, or all of a name, or all that are old: they stop working within 5 seconds',
    )
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option('--all-created-before <date>', 'all active ones that were created before', instant)
    .addHelpText('after', REVOKE_NOTES)
    .action(async (which: string | undefined, options: { allCreatedBefore?: Date }, command) => {
      const { allCreatedBefore: before } = options;
      if (which !== undefined && before === undefined) {
        await withTokens((tokens) => tokens.revoke(which));
        print(`revoked ${which}`);
      } else if (which === undefined && before) {
        const names = await withTokens((tokens) => tokens.revokeCreatedBefore(before));
        print(`revoked ${names.length}${names.length > 0 ? `: ${names.join(', ')}` : ''}`);
      } else {
        (command as Command).error('error: give either a name or id or --all-created-before');
      }
    });
}

/** What needs the store is loaded here only: it takes most of a second, which help need not wait. */
async function withTokens<Result>(
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const context = await import('./with-tokens.js');
  return context.withTokens(work);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
