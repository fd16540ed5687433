import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { COMMAND } from '../config/config.js';
import type { TokensService } from '../auth/tokens/tokens.service.js';
import { toDuration, toDurationOrZero, toTokenName } from './arguments.js';
import { readStoreConfig } from './store-config.js';
import { printResult } from './terminal.js';

const loadTable = () => import('./token-table.js');
const loadEntity = () => import('../auth/tokens/token.entity.js');

const DAY_MS = 86_400_000;

const EXAMPLE = `\nExample:\n  $ ${COMMAND} token`;
const VERIFY_EXAMPLE = `echo "$TOKEN" | ${COMMAND} token verify`;

/** Of the commands that issue a token. */
const EXPIRES_OPTION = [
  '--expires <duration>',
  'how long the new token is valid: 45s, 30m, 12h, 90d or 2w',
  toDuration,
] as const;

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
    .description('Create a token and print it, alone, on stdout. It cannot be shown again.')
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
      'List all tokens, including expired and revoked ones, without secrets. Warns on stderr about ' +
        'tokens that expire within 14 days and were not rotated yet.',
    )
    .addHelpText('after', `${EXAMPLE} list --json`)
    .action(async () => {
      const all = await withTokens((tokens) => tokens.list(), 'read');
      const { describeExpiry, formatTokens, toJsonToken } = await loadTable();
      await printResult(token, formatTokens(all), all.map(toJsonToken));
      const { listExpiring } = await loadEntity();
      for (const expiring of listExpiring(all))
        process.stderr.write(
          `warning: ${describeExpiry(expiring)}: run ${COMMAND} token rotate ${expiring.name}\n`,
        );
    });
}

function addVerify(token: Command): void {
  const verify = token
    .command('verify')
    .summary('tell which token a secret is, and whether it is active')
    .description(
      'Read a token from the standard input, and tell which one it is; exit 1 unless active.',
    )
    .usage('[options] < FILE')
    .allowExcessArguments()
    .addHelpText('after', `\nExample:\n  $ ${VERIFY_EXAMPLE}`)
    .action(async () => {
      if (verify.args.length > 0)
        verify.error(
          `error: give the token on the standard input, as others can see arguments: ${VERIFY_EXAMPLE}`,
        );
      const secret = await readSecretLine();
      if (secret === '') verify.error('error: the standard input has no token');
      const found = await withTokens((tokens) => tokens.find(secret), 'read');
      const { hasSecretForm, isActive } = await loadEntity();
      const { formatTokens, toJsonToken } = await loadTable();
      const state = hasSecretForm(secret) ? 'unknown' : 'malformed';
      if (found) await printResult(token, formatTokens([found]), toJsonToken(found));
      else await printResult(token, `not a token of this store: ${state}`, { state });
      if (!found || !isActive(found)) process.exitCode = 1;
    });
}

function addRotate(token: Command): void {
  token
    .command('rotate')
    .summary('replace a token and print the new one')
    .description(
      'Create another token of a name, with the lifetime of the old one, and print it, alone, on stdout.',
    )
    .argument('<name>', 'its name, as list shows it', toTokenName)
    .option('--overlap <duration>', 'how long the old one works, by default 24h', toDurationOrZero)
    .option(...EXPIRES_OPTION)
    .addHelpText('after', `${EXAMPLE} rotate nursery --overlap 2d`)
    .action((name: string, { overlap = DAY_MS, expires }: { overlap?: number; expires?: number }) =>
      printNewToken(token, (tokens) => tokens.rotate(name, overlap, expires), overlap),
    );
}

function addRevoke(token: Command): void {
  const revoke = token
    .command('revoke')
    .summary('revoke a token, or all')
    .description('Revoke a token, all of a name, or all: they stop working within 5 seconds.')
    .argument('[name-or-id]', 'its name or its number, as list shows them')
    .option('--all', 'every active token, as after a leak')
    .addHelpText('after', `${EXAMPLE} revoke nursery`)
    .action(async (which: string | undefined, { all = false }: { all?: boolean }) => {
      if ((which === undefined) !== all)
        revoke.error('error: give a name, an id or --all, and one of them only');
      const revoked = await withTokens((tokens) => tokens.revoke(which));
      const { toJsonToken } = await loadTable();
      const names = revoked.map(({ id, name }) => `${name} (${id})`).join(', ');
      await printResult(token, `revoked ${revoked.length}: ${names}`, revoked.map(toJsonToken));
    });
}

type Work<Result> = (tokens: TokensService) => Promise<Result>;

/** Prints the secret of a new token, and on stderr when it expires. @param overlap ms that the old one works, of a rotation */
async function printNewToken(command: Command, issue: Work<string>, overlap?: number) {
  const { describeExpiry, formatMinute, toJsonToken } = await loadTable();
  let expiry = '';
  try {
    await withTokens(async (tokens) => {
      const secret = await issue(tokens);
      const issued = await tokens.find(secret);
      // Before the commit: a token whose secret cannot be printed is not issued.
      await printResult(command, secret, { ...(issued && toJsonToken(issued)), token: secret });
      expiry = issued ? describeExpiry(issued) : '';
    });
  } catch (error) {
    if (expiry)
      process.stderr.write(
        `warning: the printed token may not be valid: check it with ${COMMAND} token verify\n`,
      );
    throw error;
  }
  const end = overlap === undefined ? null : new Date(Date.now() + overlap);
  const old = end ? `; the old one works until ${formatMinute(end)} UTC at most` : '';
  process.stderr.write(`${expiry}${old}\n`);
}

/** Works on the tokens of an existing store, in one transaction. @throws StoreUnusableError, TokenError */
async function withTokens<Result>(
  work: Work<Result>,
  access: 'tokens' | 'read' = 'tokens',
): Promise<Result> {
  const { Token } = await loadEntity();
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
