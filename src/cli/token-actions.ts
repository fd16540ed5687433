/** The work on tokens, which token.command.ts runs. */
import type { Command } from 'commander';
import {
  expiresSoon,
  getExpiry,
  isActive,
  listExpiring,
  Token,
} from '../auth/tokens/token.entity.js';
import { hasSecretForm } from '../auth/tokens/token-secret.js';
import { TokensService, type IssuedToken } from '../auth/tokens/tokens.service.js';
import { COMMAND, type Config } from '../config/config.js';
import { openStore } from '../database/store.js';
import { describeError } from '../errors/operator-message.js';
import { escapeControls } from '../errors/redact.js';
import { readStoreConfig } from './arguments.js';
import { alignColumns, formatMinute, printResult, warn } from './terminal.js';

/** No header can have a longer one. */
const MAX_SECRET_LENGTH = 2 ** 16;
/** How long `list` shows a token that has ended, without `--all`. */
const LISTED_MS = 30 * 24 * 60 * 60 * 1_000;

type Work<Result> = (tokens: TokensService) => Promise<Result>;

export async function createToken(
  command: Command,
  name: string,
  lifetime?: number,
): Promise<void> {
  await issueToken(command, readStoreConfig(), (tokens) => tokens.create(name, lifetime));
}

/** Ends the old tokens only once the secret of the new one is printed, so that the name always has one that works. */
export async function rotateToken(
  command: Command,
  name: string,
  overlap: number,
  lifetime?: number,
): Promise<void> {
  const config = readStoreConfig();
  const token = await issueToken(command, config, (tokens) => tokens.rotate(name, lifetime));
  try {
    await withTokens(config, (tokens) => tokens.endReplaced(token, overlap));
  } catch (error) {
    warn(
      `the old one may still work: find it by \`${COMMAND} token list\`, and revoke it by its number`,
    );
    throw error;
  }
  // It is rounded up to a whole minute, as it is said to be the latest time.
  const end = formatMinute(new Date(Date.now() + overlap + 59_999));
  if (overlap > 0) process.stderr.write(`the old one works until ${end} UTC at most\n`);
}

/**
 * Creates a token, then prints its secret, and on stderr when it expires. A token whose secret cannot be printed is removed.
 * The store is closed while it prints: a terminal that is stopped (`^S`) makes nobody else wait.
 */
async function issueToken(
  command: Command,
  config: Config,
  issue: Work<IssuedToken>,
): Promise<IssuedToken> {
  const token = await withTokens(config, issue);
  const { secret } = token;
  try {
    await printResult(command, secret, { ...toJsonToken(token), token: secret });
  } catch (error) {
    await takeBack(config, token);
    throw error;
  }
  process.stderr.write(`${describeExpiry(token)}\n`);
  return token;
}

async function takeBack(config: Config, token: IssuedToken): Promise<void> {
  try {
    await withTokens(config, (tokens) => tokens.remove(token));
  } catch (error) {
    const what = `the token ${token.name} (${token.id}), which was not printed, may still be active`;
    warn(`${what}: ${describeError(error)}; run \`${COMMAND} token revoke ${token.id}\``);
  }
}

export async function listTokens(command: Command, all = false): Promise<void> {
  const tokens = await withTokens(readStoreConfig(), (tokens) => tokens.list(), 'read');
  const since = all ? 0 : Date.now() - LISTED_MS;
  const isListed = (token: Token) => (token.revokedAt?.getTime() ?? getExpiry(token)) > since;
  const listed = tokens.filter(isListed);
  await printResult(command, formatTokens(listed), listed.map(toJsonToken));
  for (const expiring of listExpiring(tokens)) {
    const advice = `run ${COMMAND} token rotate ${escapeControls(expiring.name)}`;
    warn(`${describeExpiry(expiring)}: ${advice}`);
  }
}

/** Takes the secret from the standard input, as others can see arguments. */
export async function verifyToken(command: Command): Promise<void> {
  const secret = await readSecretLine();
  if (secret === '') command.error('error: the standard input has no token');
  const found = await withTokens(readStoreConfig(), (tokens) => tokens.find(secret), 'read');
  const state = hasSecretForm(secret) ? 'unknown' : 'malformed';
  if (found) await printResult(command, formatTokens([found]), toJsonToken(found));
  else await printResult(command, `not a token of this store: ${state}`, { state });
  if (!found || !isActive(found)) process.exitCode = 1;
}

export async function revokeTokens(command: Command, which?: string): Promise<void> {
  const revoked = await withTokens(readStoreConfig(), (tokens) =>
    which === undefined ? tokens.revokeAll() : tokens.revoke(which),
  );
  const names = revoked.map((token) => {
    const { id, name } = token;
    // It has expired, or a clock is wrong.
    return `${name} (${id}${getExpiry(token) <= Date.now() ? ', expired' : ''})`;
  });
  const text = `revoked ${revoked.length}: ${names.join(', ')}`;
  await printResult(command, text, revoked.map(toJsonToken));
}

/** Opens an existing store, works on its tokens, and closes it. @throws StoreUnusableError, TokenError */
async function withTokens<Result>(
  config: Config,
  work: Work<Result>,
  access: 'token' | 'read' = 'token',
): Promise<Result> {
  await using store = await openStore(config, [], access);
  return await work(new TokensService(store.getRepository(Token)));
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
