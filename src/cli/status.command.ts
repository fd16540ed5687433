import type { Command } from 'commander';
import { COMMAND, VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { readConfig } from '../config/environment.js';
import { describeError } from '../errors/operator-message.js';
import { toUrl } from './store-config.js';
import { alignColumns, printResult, toPrintable } from './terminal.js';

/** Milliseconds that the service has to tell whether it is ready. */
const READY_TIMEOUT_MS = 3_000;

/** What the service says of itself, on its management port. */
interface ServiceStatus {
  readonly url: string;
  readonly state: 'ready' | 'not ready' | 'no response';
  readonly version?: string | undefined;
  readonly store?: string | undefined;
  readonly reasons: readonly string[];
}

/** The body of /readyz, unless another program has the port. */
interface Readiness {
  readonly error?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly details?: { readonly service?: { readonly version: string; readonly store: string } };
}

/** `status`: what an operator asks first. */
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
      const [store, service] = [await inspectStore(config), await inspectService(config)];
      const differences = service ? listDifferences(service, name) : [];
      const rows = {
        version: `${VERSION}, Node.js ${process.versions.node}`,
        ...(await formatStore(name, store)),
        service: toPrintable(formatService(service, differences)),
      };
      const problems = [
        ...(store.error === undefined ? [] : ['store']),
        ...(service && (service.state !== 'ready' || differences.length > 0) ? ['service'] : []),
      ];
      await printResult(program, alignColumns(Object.entries(rows)), {
        version: VERSION,
        node: process.versions.node,
        store: { name, ...store },
        service,
        problems,
      });
      if (problems.length > 0) process.exitCode = 1;
    });
}

/** The store of the configuration, or why it cannot be read. */
async function inspectStore(config: Config) {
  try {
    const { Snapshot } = await import('../database/snapshot.js');
    await using store = await Snapshot.open(config);
    const [plants] = await store.query<{ count: unknown }>('SELECT COUNT(*) AS count FROM plants');
    const tokens = await store.query<{ id: unknown; name: string; expires: unknown }>(
      `SELECT id, name, expires_at AS expires FROM tokens
       WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${Date.now()})
       ORDER BY expires_at`,
    );
    const next = tokens.find(({ expires }) => expires !== null);
    return {
      schema: 'up to date' as const,
      plants: Number(plants?.count),
      activeTokens: tokens.length,
      nextExpiry: next
        ? { id: Number(next.id), name: next.name, at: new Date(Number(next.expires)) }
        : null,
    };
  } catch (error) {
    return { schema: null, error: describeError(error) };
  }
}

async function formatStore(name: string, store: Awaited<ReturnType<typeof inspectStore>>) {
  if (store.error !== undefined) return { store: `${name}; ${store.error}` };
  const { schema, plants, activeTokens, nextExpiry: next } = store;
  const { formatMinute } = await import('./token-table.js');
  const expiry = next
    ? `; ${next.name} (${next.id}) expires next, ${formatMinute(next.at)} UTC`
    : ', none expires';
  return {
    store: name,
    schema,
    plants: String(plants),
    tokens: `${activeTokens} active${expiry}`,
  };
}

/** Asks the service; undefined if it has no management port. */
async function inspectService(config: Config): Promise<ServiceStatus | undefined> {
  const { managementHost, managementPort } = config;
  if (managementPort === 'off') return undefined;
  const url = new URL('/readyz', toUrl('http', managementHost, managementPort)).href;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    const { error, details } = (await response.json().catch(() => ({}))) as Readiness;
    if (!error || !details) throw new Error('another program has this port');
    const reasons = Object.entries(error).map(
      ([check, { message, phase, plants }]) =>
        `${check}: ${message ?? phase ?? `${plants} plants`}`,
    );
    const { version, store } = details.service ?? {};
    return { url, state: response.ok ? 'ready' : 'not ready', version, store, reasons };
  } catch (error) {
    return { url, state: 'no response', reasons: [describeError(error)] };
  }
}

/** Lists how the service is not that of this command: of another version, or on another store. */
function listDifferences({ state, version, store }: ServiceStatus, own: string): string[] {
  if (state === 'no response') return [];
  const found =
    version === VERSION ? [] : [`of ${version ? `version ${version}` : 'another version'}`];
  return store === own || store === undefined ? found : [...found, `on another store: ${store}`];
}

function formatService(service: ServiceStatus | undefined, differences: readonly string[]): string {
  if (!service) return 'not asked, as MANAGEMENT_PORT is off';
  const { url, state, reasons } = service;
  const why = reasons.length > 0 ? `: ${reasons.join('; ')}` : '';
  return `${[state + why, ...differences].join(', but ')} (${url})`;
}
