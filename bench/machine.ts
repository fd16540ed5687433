import { execFileSync, spawn, type SpawnOptions } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The type of a file system in memory (linux/magic.h). */
const TMPFS = 0x01021994;

const ending = new AbortController();
process.once('exit', () => ending.abort());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1));
}

/** Creates a folder that is removed when this process ends. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'plant-store-run-'));
  chmodSync(folder, 0o711);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  return folder;
}

/**
 * Makes all stores of this run go into one folder, which is removed when the run ends.
 *
 * @throws Error if it is in memory, where commits cost nothing and prove nothing
 */
export function useDisk(): void {
  // /var/tmp is on a disk (Filesystem Hierarchy Standard), and PostgreSQL's user can reach it.
  const folder = temporaryFolder(process.env.TMPDIR ?? '/var/tmp');
  if (statfsSync(folder).type === TMPFS) {
    throw new Error(`${folder} is in memory: set TMPDIR to a folder on a disk`);
  }
  process.env.TMPDIR = folder;
}

const status = readFileSync('/proc/self/status', 'utf8');
const [, allowed = ''] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status) ?? [];

/** The first and the last core available to us. With SMT these are not siblings. */
export const SERVER_CORE = Number.parseInt(allowed);
export const LOAD_CORE = Number(/\d+$/.exec(allowed)?.[0]);

/** Leaves the server's core to the server. */
export function stepAside(): void {
  execFileSync('taskset', ['-acp', String(LOAD_CORE), String(process.pid)]);
}

/** Starts a program on a core. It ends with this process at the latest. */
export function start(core: number, command: readonly string[], options: SpawnOptions = {}) {
  return spawn('taskset', ['-c', String(core), ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal: ending.signal,
    killSignal: 'SIGKILL',
    ...options,
  });
}

/** Microseconds of CPU time of a process, and of its threads by their name; of all threads by '' (proc(5), stat). */
export function cpuTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>();
  for (const path of ['', ...readdirSync(`/proc/${pid}/task`).map((tid) => `task/${tid}/`)]) {
    const text = readFileSync(`/proc/${pid}/${path}stat`, 'utf8');
    const [, name = '', rest = ''] = /\((.*)\) (.*)/.exec(text) ?? [];
    const [user = NaN, system = NaN] = rest.split(' ').slice(11).map(Number);
    const thread = path && name;
    // They are in hundredths of a second.
    times.set(thread, (times.get(thread) ?? 0) + (user + system) * 10_000);
  }
  return times;
}

/** Resident memory of a process in MB: now, or the peak since {@link restartPeak}. */
export function residentMb(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${which}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}

/** Restarts the kernel's peak of a process's resident memory (proc(5), clear_refs). */
export function restartPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
