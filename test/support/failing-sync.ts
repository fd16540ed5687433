import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('./failing-sync.c', import.meta.url));

/** Makes a sync of one file fail in the processes that are started with its `env`, on Linux. */
export class FailingSync {
  readonly env: Readonly<Record<string, string>>;
  private readonly flag: string;

  /**
   * @param folder where the library is compiled to
   * @param file what the path of the file ends with
   */
  constructor(folder: string, file: string) {
    const library = join(folder, 'failing-sync.so');
    this.flag = join(folder, 'fail-sync');
    try {
      execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE]);
    } catch (cause) {
      throw new Error('this test needs a C compiler, cc (Debian: apt-get install gcc)', { cause });
    }
    this.env = { LD_PRELOAD: library, FAIL_SYNC_OF: file, FAIL_SYNC_WHILE: this.flag };
  }

  /** From now on the next sync fails, and only that. */
  arm(): void {
    writeFileSync(this.flag, '');
  }

  /** Whether it is still to come. */
  get isArmed(): boolean {
    return existsSync(this.flag);
  }
}
