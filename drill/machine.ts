import { describeMachine } from '../bench/hardware.js';
import { startFlags } from '../bench/store.js';
import { CLIENTS } from './load.js';

/**
 * What a reader must know to repeat a run, as a Markdown list.
 *
 * @param folder where the stores are
 * @param parts further parts of the first line, such as the version of a server
 */
export function describeRun(script: string, folder: string, ...parts: string[]): string {
  const command = ['npm', 'run', script, ...commandLine()].join(' ');
  const run = [`\`${command}\``, `Node ${process.versions.node}`, ...parts].join(', ');
  return [
    `- ${new Date().toISOString().slice(0, 10)}, ${run}`,
    describeMachine(folder),
    `- ${CLIENTS} clients for each service; one process of the service (Node's flags: ${startFlags().join(' ')}), DATABASE_TIMEOUT 5s`,
  ].join('\n');
}

function commandLine(): string[] {
  const args = process.argv.slice(2);
  return args.length > 0 ? ['--', ...args] : [];
}
