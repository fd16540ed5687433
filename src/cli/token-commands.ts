import type { Command } from 'commander';
import { duration } from './arguments.js';
import { addRevokeCommand } from './revoke-command.js';
import { addRotateCommand } from './rotate-command.js';
import { withTokens } from './with-tokens.js';

/** `token create`, `token list`, `token rotate` and `token revoke`. */
export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .summary('create, list, rotate and revoke tokens')
    .description('Create, list, rotate and revoke the bearer tokens that the service accepts');

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

  addRotateCommand(token);
  addRevokeCommand(token);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
