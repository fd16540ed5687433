import { readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second for programs, whatever its own clock (proc(5)). */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU time that a process and its descendants have used, with those that have ended. */
export function cpuSeconds(pid: number): number {
  return sum(treeOf(pid).map((each) => secondsIn(statOf(each).slice(11, 15))));
}

/** Seconds of CPU time that those of our own children have used which have ended. */
export function endedChildrenCpuSeconds(): number {
  return secondsIn(statOf('self').slice(13, 15));
}

/** Resident memory of a process and its descendants, in bytes; what they share counts for each. */
export function residentBytes(pid: number): number {
  const resident = (status: string) => Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  return sum(treeOf(pid).map((each) => resident(read(`${each}/status`))));
}

/** A process and its descendants; all that we measure start theirs from their first thread. */
function treeOf(pid: number): number[] {
  const children = read(`${pid}/task/${pid}/children`).match(/\d+/g) ?? [];
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}

/** The fields of proc(5)'s stat from the third on: the second may hold spaces, in brackets. */
function statOf(pid: number | 'self'): string[] {
  const stat = read(`${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** A file below /proc; nothing where the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return '';
  }
}

function secondsIn(ticks: readonly string[]): number {
  return sum(ticks.map(Number)) / TICKS_PER_SECOND;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
