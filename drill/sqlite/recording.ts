import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, temporaryFolder } from '../../bench/processes.js';
import { Service } from '../service.js';
import { FaultFile } from './fault.js';
import { BEFORE } from './replay.js';

/** A service over a SQLite file, and what it does to the file and its log, from the first moment on. */
export interface Recording {
  readonly folder: string;
  /** The database file. */
  readonly file: string;
  readonly fault: FaultFile;
  readonly service: Service;
}

/** The name of the database file in the folder of a recording. */
export const STORE = 'store.sqlite';

let library: string | undefined;

/**
 * Makes a store, as an operator would, and a service that will be recorded; it does not run yet.
 *
 * @param env further variables of its environment
 */
export async function newRecording(env: NodeJS.ProcessEnv = {}): Promise<Recording> {
  library ??= compile();
  const folder = memoryFolder();
  const file = join(folder, STORE);
  const fault = new FaultFile(join(folder, 'fault'));
  const service = new Service(`sqlite:${file}`, {
    LD_PRELOAD: library,
    DISK_DATABASE: file,
    DISK_RECORD: folder,
    DISK_FAULT: fault.path,
    ...env,
  });
  // The command makes the store; from here on none but the service writes to it.
  await service.token();
  copyFileSync(file, join(folder, BEFORE));
  return { folder, file, fault, service };
}

/** A folder in memory, where nothing waits for a disk; it is gone when the drill ends. */
export function memoryFolder(): string {
  // As SQLite opens what is in it: without symbolic links.
  return realpathSync(temporaryFolder(existsSync('/dev/shm') ? '/dev/shm' : tmpdir()));
}

function compile(): string {
  const path = join(temporaryFolder(), 'disk.so');
  const flags = ['-O2', '-Wall', '-shared', '-fPIC', '-pthread'];
  execFileSync('cc', [...flags, '-o', path, join(ROOT, 'drill/sqlite/disk.c')]);
  return path;
}
