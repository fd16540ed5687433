import { createInterface } from 'node:readline/promises';
import { Option, type Command } from 'commander';
import { isActive } from '../auth/token.entity.js';
import type { TokensService } from '../auth/tokens.service.js';
import {
  EXPIRES_OPTION,
  JSON_OPTION,
  toDuration,
  toDurationOrZero,
  toInstant,
  toTokenName,
} from './arguments.js';
import { withTokens } from './store.js';
import { printResult } from './terminal.js';
import { formatToken, formatTokens, toJsonToken, listExpiryWarnings } from './token-list.js';

/** `token`: the bearer tokens that the service accepts. */
export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .summary('create, list, verify, rotate and revoke tokens')
    .description(
      'Create, list, verify, rotate and revoke the bearer tokens that the service accepts',
    );
  addCreateCommand(token);
  addListCommand(token);
  addVerifyCommand(token);
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
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-', toTokenName)
    .option(...EXPIRES_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  $ npx plant-store token create nursery --expires 90d')
    .action((name: string, { expires }: { expires?: number }, command: Command) =>
      printNewToken(command, (tokens) => tokens.create(name, expires)),
    );
}

function addListCommand(token: Command): void {
  token
    .command('list')
    .summary('list the tokens')
    .description(
      'List all tokens, including expired and revoked ones, without secrets; times are UTC. Warns on ' +
        'stderr about each token that expires within 14 days and was not rotated yet',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  $ npx plant-store token list --json')
    .action(async (_options: unknown, command: Command) => {
      const all = await withTokens(command, (tokens) => tokens.list());
      const now = Date.now();
      const rows = all.map((token) => toJsonToken(token, now));
      printResult(command, formatTokens(all, now), rows);
      for (const warning of listExpiryWarnings(all, now)) process.stderr.write(`${warning}\n`);
    });
}

function addVerifyCommand(token: Command): void {
  token
    .command('verify')
    .summary('tell which token a secret is, and whether it is active')
    .description(
      'Read a token from the standard input, and tell which one it is and whether it is active. The ' +
        'exit code is 0 if it is, else 1.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  $ echo "$TOKEN" | npx plant-store token verify')
    .action(async (_options: unknown, command: Command) => {
      const secret = await readSecretLine();
      if (secret === '') command.error('error: the standard input has no token');
      const found = await withTokens(command, (tokens) => tokens.find(secret));
      const now = Date.now();
      const unknown = 'unknown: mistyped, of another store, or a JSON Web Token';
      if (found) printResult(command, formatToken(found, now), toJsonToken(found, now));
      else printResult(command, unknown, { state: 'unknown' });
      if (!found || !isActive(found, now)) process.exitCode = 1;
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
    .argument('<name>', 'its name, as list shows it', toTokenName)
    .addOption(
      new Option('--overlap <duration>', 'how long the old one stays valid; 0s ends it at once')
        .default(toDuration('24h'), '24h')
        .argParser(toDurationOrZero),
    )
    .option(...EXPIRES_OPTION)
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  $ npx plant-store token rotate nursery --overlap 2d')
    .action(
      (
        name: string,
        { overlap, expires }: { overlap: number; expires?: number },
        command: Command,
      ) => printNewToken(command, (tokens) => tokens.rotate(name, overlap, expires)),
    );
}

function addRevokeCommand(token: Command): void {
  token
    .command('revoke')
    .summary('revoke a token, or all that are old')
    .description(
      'Revoke a token, or all of a name, or all that are old: they stop working within 5 seconds',
    )
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option('--all-created-before <date>', 'all active ones that were created before', toInstant)
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
A date is its midnight in UTC; a time says its zone.

Examples:
  $ npx plant-store token revoke nursery
  $ npx plant-store token revoke --all-created-before 2026-11-21
  $ npx plant-store token revoke --all-created-before 2026-11-21T13:40:00+01:00`,
    )
    .action(
      async (
        which: string | undefined,
        { allCreatedBefore: before }: { allCreatedBefore?: Date },
        command: Command,
      ) => {
        if ((which === undefined) === (before === undefined)) {
          command.error('error: give either a name or id or --all-created-before');
        }
        const revoked = await withTokens(command, (tokens) =>
          before ? tokens.revokeCreatedBefore(before) : tokens.revoke(which ?? ''),
        );
        const names = revoked.length > 0 ? `: ${revoked.map(({ name }) => name).join(', ')}` : '';
        const rows = revoked.map((token) => toJsonToken(token, Date.now()));
        printResult(command, `revoked ${which ?? `${revoked.length}${names}`}`, rows);
      },
    );
}

/** Prints the secret of a new token, or with `--json` the token too. */
async function printNewToken(
  command: Command,
  issue: (tokens: TokensService) => Promise<string>,
): Promise<void> {
  const { secret, token } = await withTokens(command, async (tokens) => {
    const secret = await issue(tokens);
    return { secret, token: await tokens.find(secret) };
  });
  printResult(command, secret, { ...(token && toJsonToken(token, Date.now())), token: secret });
}

/** Reads a token, or the header with it, from the first line of the standard input; '' if there is none. */
async function readSecretLine(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('token: ');
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    // An open interface would keep the process until the input ends.
    lines.close();
    return line.replace(/^\s*Bearer\s/i, '').trim();
  }
  return '';
}
