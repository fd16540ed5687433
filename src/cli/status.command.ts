import type { Command } from 'commander';
import { COMMAND, toUrl, VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { readConfig } from '../config/environment.js';
import { describeError, escapeControls } from '../errors/operator-message.js';
import { alignColumns, printResult } from './terminal.js';

const READY_TIMEOUT_MS = 3_000;

/** How many active tokens each name has, and when the last of these expires; null for never. */
const ACTIVE_TOKENS = `
  SELECT name, COUNT(*) AS count, CASE WHEN COUNT(*) = COUNT(expires_at) THEN MAX(expires_at) END AS last_end
  FROM tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${Date.now()})
  GROUP BY name ORDER BY last_end`;

/** The body of /readyz, unless another program has the port. */
interface Readiness {
  readonly error?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly details?: { readonly service?: { readonly version: string; readonly store: string } };
}

/** What is found of the store or the service: as rows, and as a value for JSON. */
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
      const store = await inspectStore(config);
      const service = await inspectService(config);
      const { node } = process.versions;
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

async function inspectStore(config: Config): Promise<Part> {
  const name = describeDatabase(config.databaseUrl);
  try {
    const { Snapshot } = await import('../database/snapshot.js');
    const { formatMinute } = await import('./token-table.js');
    await using store = await Snapshot.open(config);
    const [row] = await store.query<{ count: unknown }>('SELECT COUNT(*) AS count FROM plants');
    const names = await store.query<Record<string, string | number | null>>(ACTIVE_TOKENS);
    const next = names.find(({ last_end }) => last_end !== null);

    const schema = 'up to date';
    const plants = Number(row?.count);
    const activeTokens = names.reduce((sum, { count }) => sum + Number(count), 0);
    const nextExpiry = next ? { name: next.name, at: new Date(Number(next.last_end)) } : null;
    const expiry = nextExpiry
      ? `; ${nextExpiry.name} expires next, ${formatMinute(nextExpiry.at)} UTC`
      : ', none expires';
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

/** Whether the service of the configuration is ready, and of this version and store. */
async function inspectService(config: Config): Promise<Part> {
  const { managementHost, managementPort, databaseUrl } = config;
  if (managementPort === 'off') {
    const rows = { service: 'not asked, as MANAGEMENT_PORT is off' };
    return { rows, value: undefined, isProblem: false };
  }
  const url = new URL('/readyz', toUrl('http', managementHost, managementPort)).href;
  const service = await askService(url, describeDatabase(databaseUrl));
  const { state, reasons } = service;
  return {
    rows: { service: escapeControls(`${[state, ...reasons].join('; ')} (${url})`) },
    value: { url, ...service },
    isProblem: state !== 'ready' || reasons.length > 0,
  };
}

async function askService(url: string, ownStore: string) {
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
    return { state: response.ok ? 'ready' : 'not ready', version, store, reasons };
  } catch (error) {
    return { state: 'no response', reasons: [describeError(error)] };
  }
}
