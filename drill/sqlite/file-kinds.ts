import { execFile } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { SqliteStore } from '../../test/support/sqlite-store.js';
import type { Kind } from '../kinds.js';
import { runOn, type Stage } from '../stage.js';
import { follow, followAndRestart, putBack, restart, SUFFIXES } from './operators.js';

const run = promisify(execFile);

/** Milliseconds in which all threads of a process have stopped. */
const STOP_MS = 200;

/** What operators do to the files. A state has at most one of these kinds, as each would find other files than it expects. */
export function listFileKinds(store: SqliteStore): Kind[] {
  const kinds = [...moves(store), ...removals(store), ...mounts(store), ...overwrites(store)];
  return kinds.map((kind) => ({ ...kind, groups: ['file', ...(kind.groups ?? [])], order: 1 }));
}
type FileKind = Omit<Kind, 'order'>;

function moves(store: SqliteStore): FileKind[] {
  const { path, folder } = store;
  const [old, backup] = [join(folder, 'old'), join(folder, 'backup')];
  const data = dirname(path);
  const moveAway = (name: string, suffix: string): FileKind => ({
    name: `${name} is moved away`,
    isHarmful: true,
    make: () => renameSync(path + suffix, old),
    undo: () => renameSync(old, path + suffix),
  });
  const replaceByCopy = (name: string, suffix: string): FileKind => ({
    name: `a copy in the place of ${name}`,
    isHarmful: true,
    make() {
      renameSync(path + suffix, old);
      copyFileSync(old, path + suffix);
    },
    undo: () => renameSync(old, path + suffix),
  });
  return [
    { ...moveAway('the file', ''), undo: follow },
    moveAway('the log', '-wal'),
    moveAway('the index of the log', '-shm'),
    moveAway('the lock', '-lock'),
    replaceByCopy('the file', ''),
    replaceByCopy('the log', '-wal'),
    {
      name: 'the folder is moved away',
      isHarmful: true,
      make: () => renameSync(data, old),
      undo: follow,
    },
    {
      name: 'the folder is moved away, and a link in its place',
      isHarmful: false,
      make() {
        renameSync(data, old);
        symlinkSync(old, data);
      },
      undo() {
        rmSync(data);
        renameSync(old, data);
      },
    },
    {
      name: 'the file is moved away, and a link in its place',
      isHarmful: true,
      make() {
        renameSync(path, old);
        symlinkSync(old, path);
      },
      undo: follow,
    },
    {
      name: 'a hard link',
      isHarmful: true,
      make: () => linkSync(path, old),
      undo: () => rmSync(old),
    },
    {
      name: 'a backup is moved over the file',
      isHarmful: true,
      async make() {
        await runOn(store, 'backup', backup);
        renameSync(path, old);
        renameSync(backup, path);
      },
      undo: follow,
    },
  ];
}

function removals({ path }: SqliteStore): FileKind[] {
  const remove = (name: string, undo: Kind['undo'], ...suffixes: string[]): FileKind => ({
    name: `${name} removed`,
    isHarmful: true,
    needsStart: true,
    make() {
      for (const suffix of suffixes) rmSync(path + suffix);
    },
    undo,
  });
  return [
    remove('the file is', followAndRestart, ''),
    remove('the file, its log and its index are', followAndRestart, '', '-wal', '-shm'),
    remove('the log is', restart, '-wal'),
    remove('the index of the log is', restart, '-shm'),
  ];
}

/** Needs root or user namespaces. */
function mounts({ path, folder }: SqliteStore): FileKind[] {
  const backup = join(folder, 'mounted');
  const data = dirname(path);
  const mount = (name: string, target: string, ...args: string[]): FileKind => ({
    name: `${name} is mounted over ${target === data ? 'the folder' : 'the file'}`,
    isHarmful: true,
    make: () => run('mount', [...args, target]),
    undo: () => run('umount', [target]),
  });
  writeFileSync(backup, 'another file');
  return [
    mount('another file', path, '--bind', backup),
    mount('the file itself', path, '--bind', path),
    mount('an empty folder', data, '-t', 'tmpfs', 'tmpfs'),
  ];
}

function overwrites(store: SqliteStore): FileKind[] {
  const { path, folder } = store;
  const [kept, backup] = [join(folder, 'kept'), join(folder, 'earlier')];
  const overwrite = (name: string, damage: () => unknown): FileKind => ({
    name,
    isHarmful: true,
    takesBack: true,
    needsStart: true,
    async make({ service }: Stage) {
      // The log must have what no checkpoint before has copied, and none must write between the copies of file and log.
      await sleep(STOP_MS);
      service.signal('SIGSTOP');
      await sleep(STOP_MS);
      for (const suffix of SUFFIXES) copyFileSync(path + suffix, kept + suffix);
      service.signal('SIGCONT');
      await damage();
    },
    undo: (stage: Stage) => putBack(stage, kept, path),
  });
  const write = (suffix: string, position: number, bytes: Buffer): void => {
    const descriptor = openSync(path + suffix, 'r+');
    writeSync(descriptor, bytes, 0, bytes.length, position);
    closeSync(descriptor);
  };
  return [
    overwrite('a backup is copied over the file', async () => {
      rmSync(backup, { force: true });
      await runOn(store, 'backup', backup);
      copyFileSync(backup, path);
    }),
    overwrite('the file is emptied', () => truncateSync(path)),
    overwrite('the file is cut', () => truncateSync(path, statSync(path).size / 2)),
    overwrite('another id in the header', () => write('', 68, Buffer.from('1234'))),
    overwrite('zeros in the header', () => write('', 0, Buffer.alloc(100))),
    overwrite('the log is emptied', () => truncateSync(`${path}-wal`)),
    overwrite('zeros in the header of the log', () => write('-wal', 0, Buffer.alloc(32))),
    {
      // A backup has no further column, which could not be dropped then.
      name: "a backup from just before, by sqlite3's `.restore`",
      isHarmful: true,
      groups: ['schema'],
      takesBack: true,
      needsStart: true,
      async make() {
        rmSync(backup, { force: true });
        await runOn(store, 'backup', backup);
        await run('sqlite3', [path, '.timeout 5000', `.restore '${backup}'`]);
      },
      undo: restart,
    },
  ];
}
