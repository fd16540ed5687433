import { describeMachine, fileSystemOf } from './hardware.js';
import { GENERATOR } from './load.js';
import type { Options } from './options.js';
import type { Postgres } from './postgres.js';
import { CORES, WORK } from './processes.js';
import type { Runtime } from './runtime.js';
import { startFlags } from './store.js';

/** What a reader must know to repeat a run, as a Markdown list. */
export function describeRun(
  script: string,
  options: Options,
  { version }: Runtime,
  postgres: Postgres,
): string {
  demandDisk();
  const { rounds, seconds, warmUp, connections } = options;
  const args = process.argv.slice(2);
  const command = ['npm', 'run', script, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  const cores = CORES
    ? `server on core ${CORES.server}, load on core ${CORES.load}`
    : 'server and load on the same cores';
  return [
    `- ${new Date().toISOString().slice(0, 10)}, \`${command}\`, Node ${version}`,
    describeMachine(WORK),
    `- ${GENERATOR}, ${connections} connections, ${cores}`,
    describePostgres(postgres),
    `- ${rounds} rounds, every contestant in each, ${seconds} s each after ${warmUp} s of warm-up`,
    `- this service as \`npm start\` runs it (Node's flags: ${startFlags().join(' ')}), the others with Node's defaults`,
  ].join('\n');
}

function describePostgres({ version, settings }: Postgres): string {
  const cores = CORES ? `cores ${CORES.all}` : 'the same cores';
  const set = settings.length > 0 ? `${settings.join(', ')} and otherwise ` : '';
  return `- PostgreSQL ${version} on ${cores}, with ${set}its default settings`;
}

/** @throws Error where the stores would be in memory: their commits would cost nothing */
function demandDisk(): void {
  if (fileSystemOf(WORK) === 'tmpfs') throw new Error(`${WORK} is in memory, not on a disk`);
}
