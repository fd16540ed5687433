import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { FILES, OPERATIONS, type File, type Operation } from './records.js';

/** An error that the disk gives. */
export interface Fault {
  readonly operation: Operation['kind'];
  readonly file: File;
  readonly error: 'EIO' | 'ENOSPC';
  /** Whether every such operation fails from then on, and not that one alone. */
  readonly lasting: boolean;
}

export const FAULTS: readonly Fault[] = (['EIO', 'ENOSPC'] as const).flatMap((error) =>
  FILES.flatMap((file) =>
    OPERATIONS.filter((operation) => canFail(operation, file, error)).flatMap((operation) =>
      [false, true].map((lasting) => ({ operation, file, error, lasting })),
    ),
  ),
);

/** Reading takes no room, and the service never truncates the log, and unlinks it only when it ends. */
function canFail(operation: Operation['kind'], file: File, error: Fault['error']): boolean {
  if (operation === 'unlink' || (operation === 'truncate' && file === 'log')) return false;
  return !(operation === 'read' && error === 'ENOSPC');
}

export function nameOf({ operation, file, error, lasting }: Fault): string {
  return `${error}: ${operation}, ${file}, ${lasting ? 'for 1 s' : 'once'}`;
}

/** The file by which the recorder is told what is to fail (struct fault in disk.c). */
export class FaultFile {
  constructor(readonly path: string) {
    this.repair();
  }

  /** @param countdown the number of the operation that fails, from now on */
  arm({ operation, file, error, lasting }: Fault, countdown: number): void {
    this.write(
      OPERATIONS.indexOf(operation) + 1,
      FILES.indexOf(file) + 1,
      constants.errno[error],
      countdown,
      Number(lasting),
    );
  }

  /** Nothing fails any more. */
  repair(): void {
    this.write(0, 0, 0, 0, 0);
  }

  /** How often the fault has struck since it was armed. */
  get fired(): number {
    return readFileSync(this.path).readInt32LE(20);
  }

  private write(...fields: number[]): void {
    // In place: the service has it mapped.
    writeFileSync(this.path, Int32Array.of(...fields, 0), {
      flag: existsSync(this.path) ? 'r+' : 'w',
    });
  }
}
