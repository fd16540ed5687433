import { InvalidArgumentError, type Command } from 'commander';
import type { TokensService } from '../auth/tokens.service.js';
import { parseDuration } from '../duration.js';

/** `token create`, `token list` and `token revoke`. */
export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .summary('create, list and revoke tokens')
    .description('Create, list and revoke the bearer tokens that the service accepts');

  token
    .command('create')
    .summary('create a token and print it')
    .description(
      'Create a token and print it, alone, on stdout. It cannot be shown again: the store ' +
        'keeps no more than its hash.',
    )
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-')
    .option('--expires <duration>', 'how long it holds: 45s, 30m, 12h, 90d or 2w', duration)
    .addHelpText('after', '\nExample:\n  $ plant-store token create nursery --expires 90d')
    .action(async (name: string, { expires }: { expires?: number }) => {
      print(await withTokens((tokens) => tokens.create(name, expires)));
    });

  token
    .command('list')
    .summary('list the tokens')
    .description('List every token that is or was, without secrets; times are UTC')
    .option('--json', 'print a JSON array')
    .addHelpText('after', '\nExample:\n  $ plant-store token list --json')
    .action(async ({ json }: { json?: true }) => {
      const { asJson, asTable } = await import('./token-list.js');
      const all = await withTokens((tokens) => tokens.list());
      print(json ? asJson(all) : asTable(all));
    });

  token
    .command('revoke')
    .summary('revoke a token')
    .description('Revoke a token; it stops working within 5 seconds')
    .argument('<name-or-id>', 'its name or its number, as list shows them')
    .addHelpText('after', '\nExample:\n  $ plant-store token revoke nursery')
    .action(async (nameOrId: string) => {
      await withTokens((tokens) => tokens.revoke(nameOrId));
      print(`revoked ${nameOrId}`);
    });
}

/** What needs the store is loaded here alone: it takes most of a second, which help need not wait. */
async function withTokens<Result>(
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const { withStore } = await import('./store.js');
  const { TokensService } = await import('../auth/tokens.service.js');
  return withStore((app) => work(app.get(TokensService)));
}

function duration(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined) {
    throw new InvalidArgumentError(
      'A duration is a whole number and s, m, h, d or w, such as 90d.',
    );
  }
  return milliseconds;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
