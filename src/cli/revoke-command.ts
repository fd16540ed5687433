import type { Command } from 'commander';
import { instant } from './arguments.js';
import { withTokens } from './with-tokens.js';

const NOTES = `
A date is its midnight in UTC; a time says its zone.

Examples:
  $ plant-store token revoke nursery
  $ plant-store token revoke --all-created-before 2026-11-21
  $ plant-store token revoke --all-created-before 2026-11-21T13:40:00+01:00`;

/** `token revoke`. */
export function addRevokeCommand(token: Command): void {
  token
    .command('revoke')
    .summary('revoke a token, or all that are old')
    .description(
      'Revoke a token, or all of a name, or all that are old: within 5 seconds they stop',
    )
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option('--all-created-before <date>', 'all that hold and were created before', instant)
    .addHelpText('after', NOTES)
    .action(async (which: string | undefined, options: { allCreatedBefore?: Date }, command) => {
      const { allCreatedBefore } = options;
      if (which !== undefined && allCreatedBefore === undefined) await revoke(which);
      else if (which === undefined && allCreatedBefore) await revokeAll(allCreatedBefore);
      else (command as Command).error('error: give either a name or id or --all-created-before');
    });
}

async function revoke(nameOrId: string): Promise<void> {
  await withTokens((tokens) => tokens.revoke(nameOrId));
  process.stdout.write(`revoked ${nameOrId}\n`);
}

async function revokeAll(before: Date): Promise<void> {
  const names = await withTokens((tokens) => tokens.revokeCreatedBefore(before));
  const which = names.length > 0 ? `: ${names.join(', ')}` : '';
  process.stdout.write(`revoked ${names.length}${which}\n`);
}
