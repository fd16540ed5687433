import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../bench/machine.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Service } from '../stage.js';

/** In the order of disk.c's numbers. */
export const FILES = ['database', 'log'] as const;
export const OPERATIONS = ['write', 'sync', 'truncate', 'unlink', 'read'] as const;
const OUTCOMES = ['unknown', 'done', 'failed'] as const;
/** Bytes of a struct record. */
const HEADER = 48;
/** The database before the recording, in the recording's folder. */
export const BEFORE = 'before.sqlite';

export type File = (typeof FILES)[number];

/** An operation on a file (struct record in disk.c). Times: nanoseconds of CLOCK_MONOTONIC. */
export interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  readonly file: File;
  /** The place of a write, or the new size of a truncation. */
  readonly offset: number;
  readonly data: Buffer;
  readonly start: bigint;
  readonly end: bigint;
  /** Unknown if the process was killed meanwhile. */
  readonly outcome: (typeof OUTCOMES)[number];
  /** Whether it is the first of its process. */
  readonly isFirst: boolean;
}

/** An error of the disk. */
export interface Fault {
  readonly operation: Operation['kind'];
  readonly file: File;
  readonly error: 'EIO' | 'ENOSPC';
  /** Whether all such operations fail from then on. */
  readonly lasting: boolean;
}

/** A folder in memory, for speed. */
export const MEMORY = temporaryFolder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

/** A disk under processes on a SQLite file: records what they do to the file and its log, and fails. Linux only. */
export class FaultyDisk {
  /** The variables of these processes. */
  readonly env: Readonly<Record<string, string>>;
  private readonly fault: string;

  /** @param folder for the records; one disk at a time */
  constructor(folder: string, database: string) {
    const library = join(MEMORY, 'disk.so');
    const flags = ['-O2', '-Wall', '-shared', '-fPIC', '-pthread'];
    if (!existsSync(library)) execFileSync('cc', [...flags, '-o', library, 'drill/sqlite/disk.c']);
    this.fault = join(folder, 'fault');
    const disk = { DISK_DATABASE: database, DISK_RECORD: folder, DISK_FAULT: this.fault };
    this.env = { LD_PRELOAD: library, ...disk };
    writeFileSync(this.fault, new Int32Array(6));
  }

  /** Makes an operation fail (struct fault in disk.c). @param countdown the number of the operation */
  arm({ operation, file, error, lasting }: Fault, countdown = 1): void {
    const numbers = [OPERATIONS.indexOf(operation) + 1, FILES.indexOf(file) + 1];
    this.write(...numbers, constants.errno[error], countdown, Number(lasting));
  }

  /** Ends all faults. */
  repair(): void {
    this.write(0, 0, 0, 0, 0);
  }

  /** Whether the fault has occurred since it was armed. */
  get hasFailed(): boolean {
    return readFileSync(this.fault).readInt32LE(20) > 0;
  }

  private write(...fields: number[]): void {
    // In place, as the processes have it mapped.
    writeFileSync(this.fault, Int32Array.of(...fields, 0), { flag: 'r+' });
  }
}

/** Creates a store on a faulty disk, and a service on it, which does not run yet. @param env its further variables */
export async function createRecorded(env: Readonly<Record<string, string>> = {}) {
  const store = new SqliteStore(MEMORY);
  const disk = new FaultyDisk(store.folder, store.path);
  const service = await Service.over(store, { env: { ...disk.env, ...env } });
  // From here on only the service writes to the store.
  copyFileSync(store.path, join(store.folder, BEFORE));
  return { store, disk, service };
}

/** The recorded operations of a folder, ordered by their ends. */
export function readOperations(folder: string): Operation[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.records'));
  const operations = names.flatMap((name) => parse(readFileSync(join(folder, name))));
  return operations.sort((a, b) => Number(a.end - b.end));
}

function parse(bytes: Buffer): Operation[] {
  const operations: Operation[] = [];
  // The last record of a killed process may be incomplete.
  for (let at = 0; at + HEADER <= bytes.length;) {
    const number = (offset: number): number => Number(bytes.readBigUInt64LE(at + offset));
    const start = bytes.readBigUInt64LE(at + 24);
    const data = bytes.subarray(at + HEADER, at + HEADER + number(16));
    operations.push({
      kind: OPERATIONS[bytes.readInt32LE(at) - 1] ?? 'read',
      file: FILES[bytes.readInt32LE(at + 4) - 1] ?? 'database',
      offset: number(8),
      data,
      start,
      end: bytes.readBigUInt64LE(at + 32) || start + 1n,
      outcome: OUTCOMES[number(40)] ?? 'unknown',
      isFirst: at === 0,
    });
    at += HEADER + data.length;
  }
  return operations;
}

/** Whether an operation restarts the log, after a checkpoint of all its content. */
export function restartsLog({ kind, file, offset }: Operation): boolean {
  return kind === 'write' && file === 'log' && offset === 0;
}
