import { createInterface } from 'node:readline/promises';
import { Option, type Command } from 'commander';
import { COMMAND } from '../config/config.js';
import type { TokensService } from '../auth/tokens/tokens.service.js';
import {
  EXPIRES_OPTION,
  toDuration,
  toDurationOrZero,
  toPastInstant,
  toTokenName,
} from './arguments.js';
import { readStoreConfig } from './store-config.js';
import { printResult } from './terminal.js';

const loadTable = () => import('./token-table.js');

const MAY_BE_INVALID = `the printed token may not be valid: check it with ${COMMAND} token verify`;

const EXAMPLE = `\nExample:\n  $ ${COMMAND} token`;

export function addTokenCommands(program: Command): void {
  const token = program
    .command('token')
    .summary('create, list, verify, rotate and revoke tokens')
    .description('The bearer tokens that the service accepts.');
  for (const add of [addCreate, addList, addVerify, addRotate, addRevoke]) add(token);
}

function addCreate(token: Command): void {
  token
    .command('create')
    .summary('create a token and print it')
    .description(
      'Create a token and print it, alone, on stdout. It cannot be shown again: the store ' +
        'keeps only its hash.',
    )
    .argument('<name>', 'who holds it: a letter, then letters, digits and any of ._@-', toTokenName)
    .option(...EXPIRES_OPTION)
    .addHelpText('after', `${EXAMPLE} create nursery --expires 90d`)
    .action((name: string, { expires }: { expires?: number }) =>
      printNewToken(token, (tokens) => tokens.create(name, expires)),
    );
}

function addList(token: Command): void {
  token
    .command('list')
    .summary('list the tokens')
    .description(
      'List all tokens, including expired and revoked ones, without secrets; times are UTC. Warns on ' +
        'stderr about tokens that expire within 14 days and were not rotated yet.',
    )
    .addHelpText('after', `${EXAMPLE} list --json`)
    .action(async () => {
      const all = await withTokens((tokens) => tokens.list(), 'list');
      const { formatTokens, listExpiryWarnings, toJsonToken } = await loadTable();
      await printResult(token, formatTokens(all), all.map(toJsonToken));
      for (const warning of listExpiryWarnings(all)) process.stderr.write(`warning: ${warning}\n`);
    });
}

function addVerify(token: Command): void {
  const verify = token
    .command('verify')
    .summary('tell which token a secret is, and whether it is active')
    .description(
      'Read a token from the standard input, and tell which one it is and whether it is active. The ' +
        'exit code is 0 if it is, else 1.',
    )
    .usage('[options] < FILE')
    .allowExcessArguments()
    .addHelpText('after', `\nExample:\n  $ echo "$TOKEN" | ${COMMAND} token verify`)
    .action(async () => {
      if (verify.args.length > 0)
        verify.error(
          'error: give the token on the standard input, as others can see arguments: ' +
            `echo "$TOKEN" | ${COMMAND} token verify`,
        );
      const secret = await readSecretLine();
      if (secret === '') verify.error('error: the standard input has no token');
      const found = await withTokens((tokens) => tokens.find(secret), 'list');
      const { hasSecretForm, isActive } = await import('../auth/tokens/token.entity.js');
      const { formatToken, toJsonToken } = await loadTable();
      const [state, why] = hasSecretForm(secret)
        ? ['unknown', 'of another store']
        : ['malformed', 'cut, mistyped or a JSON Web Token'];
      if (found) await printResult(token, formatToken(found), toJsonToken(found));
      else await printResult(token, `${state}: ${why}`, { state });
      if (!found || !isActive(found)) process.exitCode = 1;
    });
}

function addRotate(token: Command): void {
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
    .addHelpText('after', `${EXAMPLE} rotate nursery --overlap 2d`)
    .action((name: string, { overlap, expires }: { overlap: number; expires?: number }) =>
      printNewToken(token, (tokens) => tokens.rotate(name, overlap, expires), overlap),
    );
}

function addRevoke(token: Command): void {
  const revoke = token
    .command('revoke')
    .summary('revoke a token, or all that are old')
    .description(
      'Revoke a token, or all of a name, or all that are old: they stop working within 5 seconds.',
    )
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option(
      '--all-created-before <date>',
      'all active ones that were created before: a date is its midnight in UTC, a time says its zone',
      toPastInstant,
    )
    .addHelpText(
      'after',
      `
Examples:
  $ ${COMMAND} token revoke nursery
  $ ${COMMAND} token revoke --all-created-before 2026-11-21T13:40:00+01:00`,
    )
    .action(async (which: string | undefined, options: { allCreatedBefore?: Date }) => {
      const before = options.allCreatedBefore;
      if ((which === undefined) === (before === undefined))
        revoke.error(
          'error: give a name, an id or --all-created-before DATE, and one of them only',
        );
      const revoked = await withTokens((tokens) =>
        before ? tokens.revokeCreatedBefore(before) : tokens.revoke(which ?? ''),
      );
      const { toJsonToken } = await loadTable();
      const names = revoked.map(({ id, name }) => `${name} (${id})`).join(', ');
      const text = `revoked ${revoked.length}${names && `: ${names}`}`;
      await printResult(token, text, revoked.map(toJsonToken));
    });
}

type Work<Result> = (tokens: TokensService) => Promise<Result>;

/** Prints the secret of a new token, or with `--json` the token too; what is to be known of it goes to stderr. */
async function printNewToken(
  command: Command,
  issue: Work<string>,
  overlap?: number,
): Promise<void> {
  const { describeExpiry, toJsonToken } = await loadTable();
  let isPrinted = false;
  const issued = await withTokens(async (tokens) => {
    const secret = await issue(tokens);
    const found = await tokens.find(secret);
    // Before the commit: a token whose secret cannot be printed is not issued.
    await printResult(command, secret, { ...(found && toJsonToken(found)), token: secret });
    isPrinted = true;
    return found;
  }).catch((error: unknown) => {
    if (isPrinted) process.stderr.write(`warning: ${MAY_BE_INVALID}\n`);
    throw error;
  });
  if (issued) process.stderr.write(`${describeExpiry(issued, overlap)}\n`);
}

/** Works on the tokens of an existing store, in one transaction. @throws StoreUnusableError, TokenError */
async function withTokens<Result>(
  work: Work<Result>,
  access: 'tokens' | 'list' = 'tokens',
): Promise<Result> {
  const { Token } = await import('../auth/tokens/token.entity.js');
  const { TokensService } = await import('../auth/tokens/tokens.service.js');
  const { openStore } = await import('../database/store.js');
  await using store = await openStore(readStoreConfig(), [Token], access);
  return await store.transaction((manager) =>
    work(new TokensService(manager.getRepository(Token))),
  );
}

/** Reads a token, or the header with it, from the first line of the standard input; '' if there is none. */
async function readSecretLine(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('token: ');
  // An open interface would keep the process until the input ends.
  using lines = createInterface({ input: process.stdin });
  for await (const line of lines) return line.replace(/^.*\bBearer\s/i, '').trim();
  return '';
}
