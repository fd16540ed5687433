import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The numbers of disk.c, in its order. */
export const FILES = ['database', 'log'] as const;
export const OPERATIONS = ['write', 'sync', 'truncate', 'unlink', 'read'] as const;
const OUTCOMES = ['unknown', 'done', 'failed'] as const;

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

/** Bytes of a struct record. */
const HEADER = 48;

/** All operations that were recorded in a folder, in the order in which they ended. */
export function readRecords(folder: string): Operation[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.records'));
  const operations = names.flatMap((name) => parse(readFileSync(join(folder, name))));
  return operations.sort((a, b) => Number(a.end - b.end));
}

function parse(bytes: Buffer): Operation[] {
  const operations: Operation[] = [];
  // Of the last one of a process that was killed, the record itself may be in part.
  for (let at = 0; at + HEADER <= bytes.length;) {
    const operation = operationAt(bytes, at);
    operations.push(operation);
    at += HEADER + operation.data.length;
  }
  return operations;
}

function operationAt(bytes: Buffer, at: number): Operation {
  const number = (offset: number): number => Number(bytes.readBigUInt64LE(at + offset));
  const start = bytes.readBigUInt64LE(at + 24);
  return {
    kind: OPERATIONS[bytes.readInt32LE(at) - 1] ?? 'read',
    file: FILES[bytes.readInt32LE(at + 4) - 1] ?? 'database',
    offset: number(8),
    data: bytes.subarray(at + HEADER, at + HEADER + number(16)),
    start,
    end: bytes.readBigUInt64LE(at + 32) || start + 1n,
    outcome: OUTCOMES[number(40)] ?? 'unknown',
    isFirst: at === 0,
  };
}

/** Whether an operation begins the log anew: what it held has been written back to the database. */
export function restartsLog({ kind, file, offset }: Operation): boolean {
  return kind === 'write' && file === 'log' && offset === 0;
}

/** Whether an operation ends a checkpoint: what it wrote back is on the disk. */
export function endsCheckpoint({ kind, file, outcome }: Operation): boolean {
  return kind === 'sync' && file === 'database' && outcome === 'done';
}
