import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { SqliteStore } from '../../test/support/sqlite-store.js';
import type { Kind, Place, SqlKind } from '../kinds.js';
import { runOn, Service, type Stage } from '../stage.js';
import { Clock } from './clock.js';
import { listFileKinds } from './file-kinds.js';
import { KINDS, PRAGMAS } from './kinds.js';
import { faultIn } from './replay.js';

const run = promisify(execFile);

/** Milliseconds of a lock, and of a frozen service: less than a request may take. */
const PAUSE_MS = 1_000;

export async function openPlace(): Promise<Place> {
  const store = new SqliteStore();
  const clock = new Clock(store.folder);
  const service = await Service.over(store, { env: { ...clock.env, MANAGEMENT_PORT: '0' } });
  return {
    service,
    kinds: [...listSqlKinds(store), ...listProcessKinds(store, clock), ...listFileKinds(store)],
    findFault: () => faultIn(store.path),
    close: () => store.remove(),
  };
}

/** Runs SQL on the file that has the name now. An error ends the transaction. */
function executeOn({ path }: SqliteStore, sql: string): void {
  const database = new Database(path, { fileMustExist: true });
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

function listSqlKinds(store: SqliteStore): Kind[] {
  let id: bigint | undefined;
  return [
    ...[...KINDS, ...PRAGMAS].map(({ make, undo, ...kind }: SqlKind): Kind => ({
      ...kind,
      make: () => executeOn(store, make),
      undo: undo === undefined ? undefined : () => executeOn(store, undo),
    })),
    {
      name: 'another `application_id`',
      isHarmful: true,
      // A start would give the file a new one.
      groups: ['id'],
      async make() {
        const [row] = await store.rows<{ application_id: bigint }>('PRAGMA application_id');
        id = row?.application_id;
        executeOn(store, 'PRAGMA application_id = 1');
      },
      undo: () => executeOn(store, `PRAGMA application_id = ${id}`),
    },
    {
      name: 'an attempt at another `journal_mode`',
      isHarmful: false,
      make() {
        try {
          executeOn(store, 'PRAGMA busy_timeout = 100; PRAGMA journal_mode = DELETE');
        } catch {
          // SQLite refuses it while others have the file open.
        }
      },
    },
  ];
}

/** What other processes do, and what the service's own one suffers. */
function listProcessKinds(store: SqliteStore, clock: Clock): Kind[] {
  let reader: Database.Database | undefined;
  const newFile = () => join(mkdtempSync(join(store.folder, 'out-')), 'file');
  const setClock = (sign: -1 | 1): Kind => ({
    name: `a clock that is ${sign > 0 ? 'fast' : 'slow'}`,
    isHarmful: false,
    groups: ['clock'],
    make: () => clock.set(sign),
    undo: () => clock.set(0),
  });
  const chmod = (mode: number): Kind => ({
    name: `the mode ${mode.toString(8)} of the file`,
    isHarmful: false,
    groups: ['mode', 'file'],
    make: () => chmodSync(store.path, mode),
    undo: () => chmodSync(store.path, 0o600),
  });
  const harmless = (name: string, make: (stage: Stage) => unknown): Kind => {
    return { name, isHarmful: false, make };
  };
  return [
    ...[setClock(1), setClock(-1), chmod(0o444), chmod(0)],
    {
      ...harmless('another process reads in one transaction', () => {
        reader = store.open();
        reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
      }),
      undo: () => reader?.close(),
    },
    harmless('another process has the lock for a second', async () => {
      const unlock = await store.lock();
      await sleep(PAUSE_MS);
      await unlock();
    }),
    {
      ...harmless('a service that is frozen for a second', async ({ service }) => {
        service.signal('SIGSTOP');
        await sleep(PAUSE_MS);
        service.signal('SIGCONT');
      }),
      order: -1,
    },
    harmless('`plant-store backup`', () => runOn(store, 'backup', newFile())),
    harmless('`plant-store export`', () => runOn(store, 'export', newFile())),
    harmless("sqlite3's `.backup`", () =>
      run('sqlite3', [store.path, '.timeout 5000', `.backup '${newFile()}'`]),
    ),
    harmless('`VACUUM INTO`', () => executeOn(store, `VACUUM INTO '${newFile()}'`)),
    harmless('`touch`', () => utimesSync(store.path, 0, 0)),
    {
      ...harmless('a lost `-id`', () => run('mv', [`${store.path}-id`, `${store.path}-id.old`])),
      groups: ['file'],
      undo: () => run('mv', [`${store.path}-id.old`, `${store.path}-id`]),
    },
  ];
}
