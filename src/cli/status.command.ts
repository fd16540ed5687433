import type { Command } from 'commander';
import { formatUrl, VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { readConfig } from '../config/environment.js';
import { describeError } from '../errors/operator-message.js';
import { alignColumns, formatMinute, printResult, warn } from './terminal.js';

const READY_TIMEOUT_MS = 3_000;

/** The body of /readyz, unless another program has the port. */
interface Readiness {
  readonly error?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly details?: { readonly service?: { readonly version: string; readonly store: string } };
}

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('tell whether the store and the service are healthy; exit with 1 if not')
    .action(async () => {
      const config = readConfig();
      const { node } = process.versions;
      // It is asked first: SQLite waits for a lock synchronously.
      const service = await inspectService(config);
      const store = await inspectStore(config);
      const { url, state, reasons } = service;
      const isFailed = 'error' in store;
      const problems = isFailed ? [store.error] : store.problems;
      const rows = [
        ['version', `${VERSION}, Node.js ${node}`],
        ['store', [store.name, ...problems].join('; ')],
        ['plants', isFailed ? '-' : String(store.plants)],
        ['tokens', isFailed ? '-' : `${store.activeTokens} active`],
        ['next expiry (UTC)', isFailed ? '-' : formatMinute(store.nextExpiry)],
        ['last backup (UTC)', isFailed ? '-' : formatMinute(store.lastBackup)],
        ['service', `${[state, ...reasons].join('; ')}${url ? ` (${url})` : ''}`],
      ];
      await printResult(program, alignColumns(rows), { version: VERSION, node, store, service });
      if (!isFailed) store.warnings.forEach(warn);
      const isServed = state === 'not asked' || (state === 'ready' && reasons.length === 0);
      if (problems.length > 0 || !isServed) process.exitCode = 1;
    });
}

async function inspectStore(config: Config) {
  const name = describeDatabase(config.databaseUrl);
  let problems: readonly string[] = [];
  try {
    const { StoreSession } = await import('../database/store-session.js');
    const { findLastBackup } = await import('../database/last-backup.entity.js');
    const { Token } = await import('../auth/tokens/token.entity.js');
    const { TokensService } = await import('../auth/tokens/tokens.service.js');
    await using store = await StoreSession.open(config);
    problems = store.problems.map(describeError);
    const tokens = new TokensService(store.manager.getRepository(Token));
    const [row] = await store.query<{ plants: unknown }>('SELECT COUNT(*) AS plants FROM plants');
    const { active, nextExpiry = null } = await tokens.summarize();
    return {
      name,
      plants: Number(row?.plants),
      activeTokens: active,
      nextExpiry,
      lastBackup: (await findLastBackup(store.manager)) ?? null,
      problems,
      warnings: await store.listWarnings(),
    };
  } catch (error) {
    // What was found explains why rows cannot be read.
    return { name, error: problems[0] ?? describeError(error) };
  }
}

/** Whether the service of the configuration is ready, and of this version and store. */
async function inspectService({ databaseUrl, managementHost, managementPort }: Config) {
  if (managementPort === 'off') return { state: 'not asked', reasons: ['MANAGEMENT_PORT is off'] };
  const url = `${formatUrl('http', managementHost, managementPort)}/readyz`;
  try {
    const { Agent, request } = await import('undici');
    // NODE_USE_ENV_PROXY would send a fetch() to a proxy. Without pipelining the connection is closed.
    const { statusCode, body } = await request(url, {
      dispatcher: new Agent({ pipelining: 0, maxResponseSize: 2 ** 20 }),
      signal: AbortSignal.timeout(READY_TIMEOUT_MS),
    });
    const { error, details } = (await body.json().catch(() => ({}))) as Readiness;
    if (!error || !details?.service) throw new Error('another program has this port');
    const { version, store } = details.service;
    // A service of 4.0.0 sends no message if its queue is full.
    const reasons = Object.entries(error).map(
      ([check, { message, phase }]) => `${check}: ${message ?? phase ?? 'full'}`,
    );
    if (version !== VERSION) reasons.push(`another version: ${version}`);
    if (store !== describeDatabase(databaseUrl)) reasons.push(`another store: ${store}`);
    return { url, state: statusCode === 200 ? 'ready' : 'not ready', version, store, reasons };
  } catch (error) {
    const advice = 'if the service runs, set its MANAGEMENT_PORT here';
    return { url, state: 'no response', reasons: [`${describeError(error)}: ${advice}`] };
  }
}
