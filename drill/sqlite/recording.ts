import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../bench/machine.js';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import { Service } from '../stage.js';

/** The numbers of disk.c, in its order. */
export const FILES = ['database', 'log'] as const;
export const OPERATIONS = ['write', 'sync', 'truncate', 'unlink', 'read'] as const;
const OUTCOMES = ['unknown', 'done', 'failed'] as const;
/** Bytes of a struct record. */
const HEADER = 48;
/** The database as it was before the recording, in the recording's folder. */
export const BEFORE = 'before.sqlite';

export type File = (typeof FILES)[number];

/** What the service did to a file (struct record in disk.c). Times: nanoseconds of CLOCK_MONOTONIC. */
export interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  readonly file: File;
  /** Of a write; of a truncation the new size. */
  readonly offset: number;
  readonly data: Buffer;
  readonly start: bigint;
  readonly end: bigint;
  /** Unknown where the process was killed meanwhile. */
  readonly outcome: (typeof OUTCOMES)[number];
  /** Whether it is the first of its process. */
  readonly isFirst: boolean;
}

/** An error that the disk gives. */
export interface Fault {
  readonly operation: Operation['kind'];
  readonly file: File;
  readonly error: 'EIO' | 'ENOSPC';
  /** Whether every such operation fails from then on, and not that one alone. */
  readonly lasting: boolean;
}

/** A folder in memory, where nothing waits for a disk. */
export const MEMORY = temporaryFolder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
/** The path of disk.c, compiled. */
let library: string | undefined;

/** A service over a SQLite file, and what it does to the file and its log, from the first moment on. */
export class Recording {
  private readonly faultFile: string;

  private constructor(
    readonly store: SqliteStore,
    readonly service: Service,
  ) {
    this.faultFile = join(store.folder, 'fault');
  }

  /**
   * Makes a store, as an operator would, and a service that will be recorded; it does not run yet.
   *
   * @param env further variables of the service's environment
   */
  static async of(env: Readonly<Record<string, string>> = {}): Promise<Recording> {
    library ??= compile();
    const store = new SqliteStore(MEMORY);
    const { folder, path } = store;
    const disk = { DISK_DATABASE: path, DISK_RECORD: folder, DISK_FAULT: join(folder, 'fault') };
    const service = await Service.over(store, { LD_PRELOAD: library, ...disk, ...env });
    // The command has made the store; from here on none but the service writes to it.
    copyFileSync(path, join(folder, BEFORE));
    const recording = new Recording(store, service);
    writeFileSync(recording.faultFile, new Int32Array(6));
    return recording;
  }

  /** Has an operation fail (struct fault in disk.c). @param countdown its number, from now on */
  arm({ operation, file, error, lasting }: Fault, countdown: number): void {
    const numbers = [OPERATIONS.indexOf(operation) + 1, FILES.indexOf(file) + 1];
    this.write(...numbers, constants.errno[error], countdown, Number(lasting));
  }

  /** Nothing fails any more. */
  repair(): void {
    this.write(0, 0, 0, 0, 0);
  }

  /** Whether the fault has struck since it was armed. */
  get hasFailed(): boolean {
    return readFileSync(this.faultFile).readInt32LE(20) > 0;
  }

  private write(...fields: number[]): void {
    // In place: the service has it mapped.
    writeFileSync(this.faultFile, Int32Array.of(...fields, 0), { flag: 'r+' });
  }
}

function compile(): string {
  const path = join(MEMORY, 'disk.so');
  const flags = ['-O2', '-Wall', '-shared', '-fPIC', '-pthread'];
  execFileSync('cc', [...flags, '-o', path, 'drill/sqlite/disk.c']);
  return path;
}

/** All operations that were recorded in a folder, in the order in which they ended. */
export function readOperations(folder: string): Operation[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.records'));
  const operations = names.flatMap((name) => parse(readFileSync(join(folder, name))));
  return operations.sort((a, b) => Number(a.end - b.end));
}

function parse(bytes: Buffer): Operation[] {
  const operations: Operation[] = [];
  // Of the last one of a process that was killed, the record itself may be in part.
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

/** Whether an operation begins the log again: what it held has been written back to the database. */
export function restartsLog({ kind, file, offset }: Operation): boolean {
  return kind === 'write' && file === 'log' && offset === 0;
}
