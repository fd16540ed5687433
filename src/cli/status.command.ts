import type { Command } from 'commander';
import { COMMAND, toUrl, VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { readConfig } from '../config/environment.js';
import { describeError, escapeControls } from '../errors/operator-message.js';
import { alignColumns, printResult } from './terminal.js';

const READY_TIMEOUT_MS = 3_000;

/** The body of /readyz, unless another program has the port. */
interface Readiness {
  readonly error?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly details?: { readonly service?: { readonly version: string; readonly store: string } };
}

interface Part {
  readonly rows: Readonly<Record<string, string>>;
  readonly value: unknown;
  readonly isProblem: boolean;
}

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .summary('tell whether the store and the service are all right')
    .description(
      'Tell the version, the store and its schema, how many plants and active tokens it has, which ' +
        'token expires next, and whether the service is ready. The exit code is 1 if the store cannot ' +
        'be read, the service is not ready, or it has another store or version. Counting the plants ' +
        'reads them all.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} status`)
    .action(async () => {
      const config = readConfig();
      const name = describeDatabase(config.databaseUrl);
      const store = await inspectStore(config, name);
      const service = await inspectService(config, name);
      const node = process.versions.node;
      const rows = { version: `${VERSION}, Node.js ${node}`, ...store.rows, ...service.rows };
      const parts = Object.entries({ store, service });
      const problems = parts.filter(([, { isProblem }]) => isProblem).map(([part]) => part);
      await printResult(program, alignColumns(Object.entries(rows)), {
        version: VERSION,
        node,
        store: store.value,
        service: service.value,
        problems,
      });
      if (problems.length > 0) process.exitCode = 1;
    });
}

async function inspectStore(config: Config, name: string): Promise<Part> {
  try {
    const { Snapshot } = await import('../database/snapshot.js');
    const { formatMinute } = await import('./token-table.js');
    const { hasSuccessor } = await import('../auth/tokens/token.entity.js');
    await using store = await Snapshot.open(config);
    const [row] = await store.query<{ count: unknown }>('SELECT COUNT(*) AS count FROM plants');
    const found = await store.query<{ id: unknown; name: string; expires: unknown }>(
      `SELECT id, name, expires_at AS expires FROM tokens
       WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${Date.now()})
       ORDER BY expires_at`,
    );
    const tokens = found.map(({ id, name, expires }) => ({
      id: Number(id),
      name,
      expiresAt: expires === null ? null : new Date(Number(expires)),
    }));
    const [plants, activeTokens] = [Number(row?.count), tokens.length];
    const next = tokens.find((token) => token.expiresAt !== null && !hasSuccessor(token, tokens));
    const nextExpiry = next ? { id: next.id, name: next.name, at: next.expiresAt } : null;
    const expiry = next
      ? `; ${next.name} (${next.id}) expires next, ${formatMinute(next.expiresAt)} UTC`
      : ', none expires';
    const schema = 'up to date';
    return {
      rows: { store: name, schema, plants: `${plants}`, tokens: `${activeTokens} active${expiry}` },
      value: { name, schema, plants, activeTokens, nextExpiry },
      isProblem: false,
    };
  } catch (cause) {
    const error = describeError(cause);
    const value = { name, schema: null, error };
    return { rows: { store: `${name}; ${error}` }, value, isProblem: true };
  }
}

/** The state of the service of the configuration, and how it is not that of this command. */
async function inspectService(config: Config, ownStore: string): Promise<Part> {
  const { managementHost, managementPort } = config;
  if (managementPort === 'off') {
    const rows = { service: 'not asked, as MANAGEMENT_PORT is off' };
    return { rows, value: undefined, isProblem: false };
  }
  const url = new URL('/readyz', toUrl('http', managementHost, managementPort)).href;
  const { state, reasons, version, store } = await askService(url);
  const faults = [state + (reasons.length > 0 ? `: ${reasons.join('; ')}` : '')];
  if (state !== 'no response' && version !== VERSION)
    faults.push(`of ${version ? `version ${version}` : 'another version'}`);
  if (store !== undefined && store !== ownStore) faults.push(`on another store: ${store}`);
  return {
    rows: { service: escapeControls(`${faults.join(', but ')} (${url})`) },
    value: { url, state, version, store, reasons },
    isProblem: state !== 'ready' || faults.length > 1,
  };
}

async function askService(url: string) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    const { error, details } = (await response.json().catch(() => ({}))) as Readiness;
    if (!error || !details) throw new Error('another program has this port');
    const reasons = Object.entries(error).map(
      ([check, { message, phase, plants }]) =>
        `${check}: ${message ?? phase ?? `${plants} plants`}`,
    );
    const { version, store } = details.service ?? {};
    return { state: response.ok ? 'ready' : 'not ready', reasons, version, store };
  } catch (error) {
    return { state: 'no response', reasons: [describeError(error)] };
  }
}
