import {
  execFileSync,
  spawn,
  spawnSync,
  type ChildProcess,
  type SpawnOptions,
} from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of the project, where npm starts its scripts. */
export const ROOT = process.cwd();
/** What the benchmark makes for itself; git ignores it. On the checkout's disk, so commits cost what they do. */
export const WORK = resolve(ROOT, 'bench/.work');

const children = new Set<ChildProcess>();
const folders = new Set<string>();

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}

/** A new folder that is gone when the benchmark ends, however it ends. */
export function temporaryFolder(parent = WORK): string {
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'run-'));
  // PostgreSQL, which runs as another user where we are root, goes through it to its own.
  chmodSync(folder, 0o711);
  folders.add(folder);
  return folder;
}

/** Whether a program is installed here. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

/** The cores for the server, for the load, and all of them; undefined where they cannot be kept apart. */
export const CORES = coresApart();

/** Leaves the server's core to the server. */
export function stepAside(): void {
  if (CORES) execFileSync('taskset', ['-acp', CORES.load, String(process.pid)]);
}

/** Starts a program on these cores; it ends at the latest with the benchmark. */
export function start(
  cores: string | undefined,
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): ChildProcess {
  const pin = cores === undefined ? [] : ['taskset', '-c', cores];
  const [command = program, ...rest] = [...pin, program, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'], ...options });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

/** The first and the last core that we may use: on machines with SMT these are not siblings. */
function coresApart(): { server: string; load: string; all: string } | undefined {
  const status = readFileSync('/proc/self/status', 'utf8');
  const [, all = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status) ?? [];
  const [server = ''] = /^\d+/.exec(all) ?? [];
  const [load = ''] = /\d+$/.exec(all) ?? [];
  return server === load || !isInstalled('taskset') ? undefined : { server, load, all };
}
