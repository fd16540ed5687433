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

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .summary('tell whether the store and the service are all right')
    .description(
      'Tell the version, the store and its schema, how many plants (all are read) and active tokens it ' +
        'has, which token expires next, and whether the service is ready. The exit code is 1 if the store ' +
        'cannot be read, the service is not ready, or it has another store or version.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} status`)
    .action(async () => {
      const config = readConfig();
      const { node } = process.versions;
      const store = await inspectStore(config);
      const service = await inspectService(config, store.name);
      const { url, state, reasons } = service;
      const rows = [
        ['version', `${VERSION}, Node.js ${node}`],
        ...listStoreRows(store),
        ['service', escapeControls(`${[state, ...reasons].join('; ')}${url ? ` (${url})` : ''}`)],
      ];
      await printResult(program, alignColumns(rows), { version: VERSION, node, store, service });
      const isServed = state === 'not asked' || (state === 'ready' && reasons.length === 0);
      if (store.schema === null || !isServed) process.exitCode = 1;
    });
}

async function inspectStore(config: Config) {
  const name = describeDatabase(config.databaseUrl);
  try {
    const { Transaction } = await import('../database/transaction.js');
    await using store = await Transaction.open(config);
    const [row] = await store.query<{ count: unknown }>('SELECT COUNT(*) AS count FROM plants');
    // A name's last token counts; one that never expires makes the end NULL.
    const names = await store.query<Record<string, string | number | null>>(`
      SELECT name, COUNT(*) AS count,
        CASE WHEN COUNT(*) = COUNT(expires_at) THEN MAX(expires_at) END AS last_end
      FROM tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${Date.now()})
      GROUP BY name ORDER BY last_end`);
    const plants = Number(row?.count);
    const activeTokens = names.reduce((sum, { count }) => sum + Number(count), 0);
    const next = names.find(({ last_end }) => last_end !== null);
    const nextExpiry = next ? { name: next.name, at: new Date(Number(next.last_end)) } : null;
    return { name, schema: 'up to date', plants, activeTokens, nextExpiry } as const;
  } catch (error) {
    return { name, schema: null, error: describeError(error) };
  }
}

function listStoreRows(store: Awaited<ReturnType<typeof inspectStore>>): string[][] {
  if (store.schema === null) return [['store', `${store.name}; ${store.error}`]];
  const { name, schema, plants, activeTokens, nextExpiry } = store;
  const expiry = nextExpiry
    ? `${nextExpiry.name} expires next, ${nextExpiry.at.toISOString()}`
    : 'none expires';
  return [
    ['store', name],
    ['schema', schema],
    ['plants', String(plants)],
    ['tokens', `${activeTokens} active; ${expiry}`],
  ];
}

/** Whether the service of the configuration is ready, and of this version and store. */
async function inspectService({ managementHost, managementPort }: Config, ownStore: string) {
  if (managementPort === 'off') return { state: 'not asked', reasons: ['MANAGEMENT_PORT is off'] };
  const url = new URL('/readyz', toUrl('http', managementHost, managementPort)).href;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    const { error, details } = (await response.json().catch(() => ({}))) as Readiness;
    if (!error || !details?.service) throw new Error('another program has this port');
    const { version, store } = details.service;
    const reasons = Object.entries(error).map(
      ([check, { message, phase }]) => `${check}: ${message ?? phase ?? 'full'}`,
    );
    if (version !== VERSION) reasons.push(`another version: ${version}`);
    if (store !== ownStore) reasons.push(`another store: ${store}`);
    return { url, state: response.ok ? 'ready' : 'not ready', version, store, reasons };
  } catch (error) {
    return { url, state: 'no response', reasons: [describeError(error)] };
  }
}
