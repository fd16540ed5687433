import { createInterface } from 'node:readline/promises';
import { Option, type Command } from 'commander';
import type { TokensService } from '../auth/tokens.service.js';
import { duration, durationOrZero, instant, tokenName } from './arguments.js';
import { jsonOption, print, readStoreConfig } from './session.js';

const UNKNOWN = 'unknown: mistyped, of another store, or a JSON Web Token';

const REVOKE_NOTES = `
A date is its midnight in UTC; a time says its zone.

Examples:
  $ npx plant-store token revoke nursery
  $ npx plant-store token revoke --all-created-before 2026-11-21
  $ npx plant-store token revoke --all-created-before 2026-11-21T13:40:00+01:00`;

/** `token create`, `token list`, `token verify`, `token rotate` and `token revoke`. */
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
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-', tokenName)
    .option('--expires <duration>', 'how long it is valid: 45s, 30m, 12h, 90d or 2w', duration)
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ npx plant-store token create nursery --expires 90d')
    .action((name: string, { expires }: { expires?: number }, command: Command) =>
      issue(command, (tokens) => tokens.create(name, expires)),
    );
}

function addListCommand(token: Command): void {
  token
    .command('list')
    .summary('list the tokens')
    .description(
      'List every token that is or was, without secrets; times are UTC. On stderr is a line for each ' +
        'that expires within 14 days and was not rotated yet',
    )
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ npx plant-store token list --json')
    .action(async (_options: unknown, command: Command) => {
      const { asTable, toRow, warningsOf } = await import('./token-list.js');
      const all = await withTokens(command, (tokens) => tokens.list());
      const now = Date.now();
      const rows = all.map((token) => toRow(token, now));
      print(command, asTable(all, now), rows);
      for (const warning of warningsOf(all, now)) process.stderr.write(`${warning}\n`);
    });
}

function addVerifyCommand(token: Command): void {
  token
    .command('verify')
    .summary('tell which token a secret is, and whether it is active')
    .description(
      'Read a token from the standard input, and tell which one it is and whether it is active. The ' +
        'exit code is 0 where it is, else 1.',
    )
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ echo "$TOKEN" | npx plant-store token verify')
    .action(async (_options: unknown, command: Command) => {
      const secret = await readToken();
      if (secret === '') command.error('error: the standard input has no token');
      const found = await withTokens(command, (tokens) => tokens.find(secret));
      const { asLine, toRow } = await import('./token-list.js');
      const { isActive } = await import('../auth/token.entity.js');
      const now = Date.now();
      if (found) print(command, asLine(found, now), toRow(found, now));
      else print(command, UNKNOWN, { state: 'unknown' });
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
    .argument('<name>', 'its name, as list shows it', tokenName)
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
    .addOption(jsonOption())
    .addHelpText('after', '\nExample:\n  $ npx plant-store token rotate nursery --overlap 2d')
    .action((name: string, options: { overlap: number; expires?: number }, command: Command) => {
      const { overlap, expires } = options;
      return issue(command, (tokens) => tokens.rotate(name, overlap, expires));
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
    .addOption(jsonOption())
    .addHelpText('after', REVOKE_NOTES)
    .action(revoke);
}

async function revoke(
  which: string | undefined,
  { allCreatedBefore: before }: { allCreatedBefore?: Date },
  command: Command,
): Promise<void> {
  if ((which === undefined) === (before === undefined)) {
    command.error('error: give either a name or id or --all-created-before');
  }
  const revoked = await withTokens(command, (tokens) =>
    before ? tokens.revokeCreatedBefore(before) : tokens.revoke(which ?? ''),
  );
  const { toRow } = await import('./token-list.js');
  const rows = revoked.map((token) => toRow(token, Date.now()));
  const names = rows.length > 0 ? `: ${rows.map(({ name }) => name).join(', ')}` : '';
  print(command, `revoked ${which ?? `${rows.length}${names}`}`, rows);
}

/** What needs the store is loaded here only: help need not wait for it. */
async function withTokens<Result>(
  command: Command,
  work: (tokens: TokensService) => Promise<Result>,
): Promise<Result> {
  const config = await readStoreConfig(command);
  const store = await import('./with-tokens.js');
  return store.withTokens(config, work);
}

/** Prints a new token: its secret, or with `--json` all that there is to know of it. */
async function issue(
  command: Command,
  work: (tokens: TokensService) => Promise<string>,
): Promise<void> {
  const { secret, token } = await withTokens(command, async (tokens) => {
    const secret = await work(tokens);
    return { secret, token: await tokens.find(secret) };
  });
  const { toRow } = await import('./token-list.js');
  print(command, secret, { ...(token && toRow(token, Date.now())), token: secret });
}

/** The token in the first line of the standard input, which may be a header's value; '' where there is none. */
async function readToken(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('token: ');
  const lines = createInterface({ input: process.stdin });
  for await (const line of lines) {
    // Else the process would wait for the end of its input.
    lines.close();
    return line.replace(/^\s*Bearer\s/i, '').trim();
  }
  return '';
}
