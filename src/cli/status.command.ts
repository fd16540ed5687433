import { isIPv6 } from 'node:net';
import type { Command } from 'commander';
import { COMMAND, VERSION, type Config } from '../config/config.js';
import { describeDatabase } from '../config/database-url.js';
import { readConfig } from '../config/environment.js';
import { Snapshot } from '../database/snapshot.js';
import { describeError } from '../errors/operator-message.js';
import { formatMinute } from './token-table.js';
import { alignColumns, printResult, toPrintable } from './terminal.js';

/** Milliseconds that the service has to tell whether it is ready. */
const READY_TIMEOUT_MS = 3_000;

/** Addresses that a service listens on, and nobody can connect to. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** What is found, in the words of the table; `problems` are those of them that make the status bad. */
interface Status {
  readonly rows: Record<string, string>;
  readonly problems: string[];
}

/** `status`: what an operator asks first. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .summary('tell whether the store and the service are all right')
    .description(
      'Tell the version, the store and its schema, how many plants and active tokens it has, which ' +
        'token expires next, and whether the service is ready. The exit code is 1 if the store cannot ' +
        'be read or the service is not ready. Counting the plants reads them all.',
    )
    .addHelpText('after', `\nExample:\n  $ ${COMMAND} status`)
    .action(async () => {
      const config = readConfig();
      const status: Status = {
        rows: {
          version: `${VERSION}, Node.js ${process.versions.node}`,
          store: describeDatabase(config.databaseUrl),
        },
        problems: [],
      };
      await inspectStore(config, status);
      await inspectService(config, status);
      const { rows, problems } = status;
      printResult(program, alignColumns(Object.entries(rows)), { ...rows, problems });
      if (problems.length > 0) process.exitCode = 1;
    });
}

async function inspectStore(config: Config, { rows, problems }: Status): Promise<void> {
  try {
    await using store = await Snapshot.open(config);
    rows['schema'] = 'up to date';
    const [plants] = await store.query<{ count: unknown }>('SELECT COUNT(*) AS count FROM plants');
    rows['plants'] = String(plants?.count);
    rows['tokens'] = await describeTokens(store);
  } catch (error) {
    rows['schema'] = describeError(error);
    problems.push('store');
  }
}

/** Describes the active tokens: `3 active; nursery (2) expires next, 2027-02-22 21:56 UTC`. */
async function describeTokens(store: Snapshot): Promise<string> {
  const now = Date.now();
  const active = await store.query<{ id: unknown; name: string; expires: unknown }>(
    `SELECT id, name, expires_at AS expires FROM tokens
     WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY expires_at`,
  );
  const next = active.find(({ expires }) => expires !== null);
  if (!next) return `${active.length} active, none expires`;
  const when = formatMinute(new Date(Number(next.expires)));
  return `${active.length} active; ${next.name} (${String(next.id)}) expires next, ${when} UTC`;
}

async function inspectService(config: Config, { rows, problems }: Status): Promise<void> {
  const { managementHost, managementPort } = config;
  if (managementPort === 'off') {
    rows['service'] = 'not asked, as MANAGEMENT_PORT is off';
    return;
  }
  const host = ALL_ADDRESSES[managementHost] ?? managementHost;
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${managementPort}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    const body = toPrintable((await response.text()).slice(0, 200)).trim();
    rows['service'] = response.ok ? `ready (${url})` : `not ready: ${body} (${url})`;
    if (!response.ok) problems.push('service');
  } catch (error) {
    rows['service'] = `no response: ${describeError(error)} (${url})`;
    problems.push('service');
  }
}
