/** The work on tokens, which token.command.ts runs. */
import type { Command } from 'commander';
import {
  expiresSoon,
  getExpiry,
  hasSecretForm,
  isActive,
  listExpiring,
  Token,
} from '../auth/tokens/token.entity.js';
import { TokensService } from '../auth/tokens/tokens.service.js';
import { COMMAND } from '../config/config.js';
import { openStore } from '../database/store.js';
import { escapeControls } from '../errors/operator-message.js';
import { readStoreConfig } from './arguments.js';
import { alignColumns, formatMinute, printResult } from './terminal.js';

/** More than a header can have. */
const MAX_SECRET_LENGTH = 2 ** 16;
/** How long `list` shows a token that has ended, without `--all`. */
const LISTED_MS = 30 * 24 * 60 * 60 * 1_000;

type Work<Result> = (tokens: TokensService) => Promise<Result>;

/** Prints the secret of a new token, and on stderr when it expires. */
export async function issueToken(command: Command, issue: Work<string>): Promise<void> {
  let expiry = '';
  try {
    await withTokens(async (tokens) => {
      const secret = await issue(tokens);
      const token = await tokens.find(secret);
      // Before the commit: a token whose secret cannot be printed is not issued.
      await printResult(command, secret, { ...(token && toJsonToken(token)), token: secret });
      expiry = token ? describeExpiry(token) : '';
    });
    process.stderr.write(`${expiry}\n`);
  } catch (error) {
    if (expiry)
      process.stderr.write(
        `warning: the printed token may not be valid: check it with ${COMMAND} token verify\n`,
      );
    throw error;
  }
}

export async function listTokens(command: Command, all = false): Promise<void> {
  const tokens = await withTokens((tokens) => tokens.list(), 'read');
  const since = all ? 0 : Date.now() - LISTED_MS;
  const listed = tokens.filter((token) => getEnd(token) > since);
  await printResult(command, formatTokens(listed), listed.map(toJsonToken));
  for (const expiring of listExpiring(tokens)) {
    const advice = `run ${COMMAND} token rotate ${escapeControls(expiring.name)}`;
    process.stderr.write(`warning: ${describeExpiry(expiring)}: ${advice}\n`);
  }
}

/** When a token was revoked, or else expires, in milliseconds since 1970; Infinity if never. */
function getEnd(token: Token): number {
  return token.revokedAt?.getTime() ?? getExpiry(token);
}

/** Takes the secret from the standard input, as others can see arguments. */
export async function verifyToken(command: Command): Promise<void> {
  const secret = await readSecretLine();
  if (secret === '') command.error('error: the standard input has no token');
  const found = await withTokens((tokens) => tokens.find(secret), 'read');
  const state = hasSecretForm(secret) ? 'unknown' : 'malformed';
  if (found) await printResult(command, formatTokens([found]), toJsonToken(found));
  else await printResult(command, `not a token of this store: ${state}`, { state });
  if (!found || !isActive(found)) process.exitCode = 1;
}

export async function revokeTokens(command: Command, which?: string): Promise<void> {
  const revoked = await withTokens((tokens) =>
    which === undefined ? tokens.revokeAll() : tokens.revoke(which),
  );
  const names = revoked.map((token) => {
    const { id, name } = token;
    // Either it is, or a clock is wrong.
    return `${name} (${id}${getExpiry(token) <= Date.now() ? ', expired' : ''})`;
  });
  const text = `revoked ${revoked.length}: ${names.join(', ')}`;
  await printResult(command, text, revoked.map(toJsonToken));
}

/** Works on the tokens of an existing store, in one transaction. @throws StoreUnusableError, TokenError */
async function withTokens<Result>(
  work: Work<Result>,
  access: 'write' | 'read' = 'write',
): Promise<Result> {
  await using store = await openStore(readStoreConfig(), [Token], access);
  return await store.transaction((manager) =>
    work(new TokensService(manager.getRepository(Token))),
  );
}

/** Reads a token, or the header with it, from the first line of the standard input; '' if there is none. */
async function readSecretLine(): Promise<string> {
  if (process.stdin.isTTY) process.stderr.write('token: ');
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.includes('\n') || text.length > MAX_SECRET_LENGTH) break;
  }
  const [line = ''] = text.split('\n', 1);
  return line.replace(/^.*\bBearer\s/i, '').trim();
}

/** `nursery (3) expires 2026-04-02 03:04 UTC` */
export function describeExpiry({ id, name, expiresAt }: Token): string {
  const when = expiresAt ? `expires ${formatMinute(expiresAt)} UTC` : 'never expires';
  return `${escapeControls(name)} (${id}) ${when}`;
}

/** A token for JSON: never with its hash. */
function toJsonToken(token: Token) {
  const { id, name, createdAt, expiresAt, revokedAt, lastUsedAt } = token;
  return { id, name, state: describeState(token), createdAt, expiresAt, revokedAt, lastUsedAt };
}

export function formatTokens(tokens: readonly Token[], now = Date.now()): string {
  const rows = tokens.map((token) => {
    const times = [token.createdAt, token.expiresAt, token.lastUsedAt].map(formatMinute);
    return [String(token.id), token.name, describeState(token, now), ...times];
  });
  const titles = ['ID', 'NAME', 'STATE', 'CREATED (UTC)', 'EXPIRES (UTC)', 'LAST USED (UTC)'];
  return alignColumns([titles, ...rows]);
}

function describeState(token: Token, now = Date.now()): string {
  if (!isActive(token, now)) return token.revokedAt ? 'revoked' : 'expired';
  return expiresSoon(token, now) ? 'expires soon' : 'active';
}
