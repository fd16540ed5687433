import { readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second for programs, whatever its own clock (proc(5)). */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU time that a process has used, all its threads together. */
export function cpuSeconds(pid: number): number {
  return secondsIn(statOf(pid).slice(11, 13));
}

/** Seconds of CPU time that those of our own children have used which have ended. */
export function endedChildrenCpuSeconds(): number {
  return secondsIn(statOf('self').slice(13, 15));
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** The fields of proc(5)'s stat from the third on: the second may hold spaces, in brackets. */
function statOf(pid: number | 'self'): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function secondsIn(ticks: readonly string[]): number {
  return ticks.reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND;
}
